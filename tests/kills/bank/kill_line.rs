use std::{fs::OpenOptions, io::Write, path::Path};

use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde::Serialize;

/// What a run came to whose processes were killed, as one line of JSON; `faults report` makes a table of such lines.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub(crate) struct KillLine {
    /// The example.
    pub(crate) run: &'static str,
    /// The server, as `tests/servers` calls it, or `sqlite`.
    pub(crate) server: String,
    /// Processes that were killed with SIGKILL.
    pub(crate) kills: usize,
    /// What was asked for: notifications, or sagas.
    pub(crate) started: usize,
    /// What of it came to its end.
    pub(crate) ended: usize,
    pub(crate) lost: usize,
    /// What had its effect twice although no kill explains it.
    pub(crate) doubled: usize,
    /// What was done once more after a kill, as at-least-once delivery allows; nothing where each effect happens once.
    pub(crate) again: usize,
    /// Dead letters that were revived because kills had cut off each of their attempts.
    pub(crate) revived: u64,
    /// Whatever else was not as it must be.
    pub(crate) wrongs: usize,
}

impl KillLine {
    /// Adds it to a file, if one is named.
    pub(crate) fn append(&self, path: Option<&Path>) -> Result<(), super::Failure> {
        let Some(path) = path else { return Ok(()) };
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(writeln!(file, "{}", serde_json::to_string(self)?)?)
    }
}

/// What a server is called in a line.
pub(crate) async fn server_name(outbox: &SeaOrmOutbox) -> Result<String, super::Failure> {
    let db = outbox.connection();
    if db.get_database_backend() != DbBackend::MySql {
        return Ok("sqlite".into());
    }
    let asked = Statement::from_string(DbBackend::MySql, "SELECT VERSION()");
    let version: String = db.query_one_raw(asked).await?.ok_or("no version")?.try_get_by_index(0)?;
    let kind = if version.contains("MariaDB") { "mariadb" } else { "mysql" };
    let numbers: Vec<&str> = version.splitn(3, '.').take(2).collect();
    Ok(format!("{kind}-{}", numbers.join(".")))
}
