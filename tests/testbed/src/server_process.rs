use std::fs;

use sea_orm::sqlx::{Error, Executor, MySqlConnection, Row};

/// A process of this machine, looked at from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerProcess(String);

impl ServerProcess {
    /// The process of the server at the other end of a connection; one that no time can be read of if it is elsewhere.
    pub async fn of(connection: &mut MySqlConnection) -> Result<Self, Error> {
        let rows = connection.fetch_all("SHOW GLOBAL VARIABLES LIKE 'pid_file'").await?;
        let file: Option<String> = rows.first().map(|row| row.try_get(1)).transpose()?;
        let number = file.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        Ok(Self(number.trim().to_owned()))
    }

    /// Its number on this machine; empty if it is elsewhere.
    pub fn number(&self) -> &str {
        &self.0
    }

    /// This process itself.
    pub fn own() -> Self {
        Self("self".into())
    }

    /// Its processor time so far, in seconds, user and kernel; 0 where it cannot be read.
    pub fn cpu_seconds(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        // The command's name, in brackets, may hold blanks; the times are the 14th and 15th field, in hundredths.
        let after = stat.rsplit_once(") ").map_or("", |(_, after)| after);
        let ticks: f64 =
            after.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
        ticks / 100.0
    }

    /// The processor time of one of its threads so far, in seconds; 0 where it cannot be read.
    pub fn thread_seconds(&self, thread: u64) -> f64 {
        let stat =
            fs::read_to_string(format!("/proc/{}/task/{thread}/schedstat", self.0)).unwrap_or_default();
        // The first figure is the time on a processor, in nanoseconds.
        stat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or_default() / 1e9
    }
}
