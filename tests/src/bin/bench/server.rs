use std::{
    collections::BTreeMap,
    env,
    path::PathBuf,
    process::{self, Command},
};

use claimstream_tests::ScratchDatabase;
use sea_orm::sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, Row};
use serde::{Deserialize, Serialize};

use crate::{Failure, machine::cpu_seconds};

/// The server that is measured, with a database of its own that is dropped in the end.
pub(crate) struct Server {
    scratch: ScratchDatabase,
    /// Comes after the database: fields go in order.
    _started: Option<Started>,
}

/// What is said of the server beside the figures.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) settings: BTreeMap<String, String>,
}

const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', \
    'innodb_buffer_pool_size', 'innodb_log_file_size', 'innodb_redo_log_capacity', 'log_bin', 'sync_binlog', \
    'innodb_flush_method', 'innodb_doublewrite', 'innodb_snapshot_isolation', 'performance_schema')";

impl Server {
    /// Takes the URL that was given, or that of the environment, or starts the server that was named; makes a database
    /// there.
    pub(crate) async fn find(name: &str, url: Option<&str>) -> Result<Self, Failure> {
        let (url, started) = match known_url(name, url) {
            Some(url) => (url, None),
            None => start(name)?,
        };
        let scratch = ScratchDatabase::create(&url, &format!("claimstream_bench_{}", process::id())).await?;
        Ok(Self { scratch, _started: started })
    }

    /// Where the database is.
    pub(crate) fn url(&self) -> String {
        self.scratch.url()
    }

    pub(crate) async fn about(&self, name: &str) -> Result<About, Failure> {
        let mut connection = MySqlConnection::connect(&self.url()).await?;
        let version = connection.fetch_one("SELECT VERSION()").await?.try_get(0)?;
        let settings = pairs(&mut connection, SETTINGS).await?;
        Ok(About { name: name.to_owned(), version, settings })
    }
}

/// What the server has done since it started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Status {
    /// Statements that clients sent.
    pub(crate) statements: f64,
    /// Bytes of redo.
    pub(crate) redo: f64,
    /// Deadlocks that it resolved.
    pub(crate) deadlocks: f64,
    /// Processor time, if the server is on this machine.
    pub(crate) cpu: f64,
}

impl Status {
    /// How many statements it takes to look.
    pub(crate) const STATEMENTS: f64 = 3.0;

    pub(crate) async fn of(connection: &mut MySqlConnection) -> Result<Self, Failure> {
        let shown = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Innodb_os_log_written')";
        let status = pairs(connection, shown).await?;
        let number = |name: &str| status.get(name).and_then(|value| value.parse().ok()).unwrap_or(0.0);
        let deadlocks = metric(connection, "lock_deadlocks").await?;
        let pid_file = pairs(connection, "SHOW GLOBAL VARIABLES LIKE 'pid_file'").await?.into_values().next();
        let pid = pid_file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        let cpu = cpu_seconds(pid.trim());
        Ok(Self { statements: number("Questions"), redo: number("Innodb_os_log_written"), deadlocks, cpu })
    }

    /// What was done since.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            statements: self.statements - before.statements,
            redo: self.redo - before.redo,
            deadlocks: self.deadlocks - before.deadlocks,
            cpu: self.cpu - before.cpu,
        }
    }
}

/// How many committed changes the server has not purged.
pub(crate) async fn history(connection: &mut MySqlConnection) -> Result<f64, Failure> {
    metric(connection, "trx_rseg_history_len").await
}

async fn metric(connection: &mut MySqlConnection, name: &str) -> Result<f64, Failure> {
    let count =
        format!("SELECT CAST(COUNT AS CHAR) FROM information_schema.INNODB_METRICS WHERE NAME = '{name}'");
    let row = connection.fetch_one(AssertSqlSafe(count)).await?;
    Ok(row.try_get::<String, _>(0)?.parse()?)
}

async fn pairs(
    connection: &mut MySqlConnection,
    sql: &'static str,
) -> Result<BTreeMap<String, String>, Failure> {
    let rows = connection.fetch_all(sql).await?;
    let pairs = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
    pairs.collect()
}

fn known_url(name: &str, url: Option<&str>) -> Option<String> {
    let variable = name.to_uppercase().replace(['-', '.'], "_");
    let named = || env::var(format!("CLAIMSTREAM_{variable}_URL")).ok().filter(|url| !url.is_empty());
    url.map(str::to_owned).or_else(named).or_else(|| servers(&["url", name]).ok())
}

fn start(name: &str) -> Result<(String, Option<Started>), Failure> {
    eprintln!("starting {name} ...");
    servers(&["up", name])?;
    let started = Started(name.to_owned());
    Ok((servers(&["url", name])?, Some(started)))
}

/// A server that the bench started; stopped with it.
struct Started(String);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = servers(&["down", &self.0]);
    }
}

fn servers(arguments: &[&str]) -> Result<String, Failure> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("servers");
    let memory = env::var("CLAIMSTREAM_SERVER_MEMORY").unwrap_or_else(|_| "1G".into());
    let output = Command::new(&script).args(arguments).env("CLAIMSTREAM_SERVER_MEMORY", memory).output()?;
    if !output.status.success() {
        return Err(
            format!("{}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()).into()
        );
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
