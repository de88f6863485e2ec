use std::collections::BTreeMap;

use claimstream_testbed::{PrivateServer, ServerProcess};
use sea_orm::sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, Row};
use serde::{Deserialize, Serialize};

use crate::Failure;

/// What is recorded of the server with the figures.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) settings: BTreeMap<String, String>,
}

const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', \
    'innodb_buffer_pool_size', 'innodb_log_file_size', 'innodb_redo_log_capacity', 'log_bin', 'sync_binlog', \
    'innodb_flush_method', 'innodb_doublewrite', 'innodb_snapshot_isolation', 'performance_schema')";

impl About {
    pub(crate) async fn of(server: &PrivateServer, name: &str) -> Result<Self, Failure> {
        let mut connection = MySqlConnection::connect(&server.url()).await?;
        let settings = pairs(&mut connection, SETTINGS).await?;
        Ok(Self { name: name.to_owned(), version: server.version().await?, settings })
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
        let cpu = ServerProcess::of(connection).await?.cpu_seconds();
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

/// How many statements of each kind the server has run since it started, by the kind's name, such as `select`.
pub(crate) async fn kinds(connection: &mut MySqlConnection) -> Result<BTreeMap<String, f64>, Failure> {
    let status = pairs(connection, "SHOW GLOBAL STATUS LIKE 'Com\\_%'").await?;
    let kind = |(name, value): (String, String)| {
        let name = name.strip_prefix("Com_")?.to_owned();
        // Looking is not part of what is looked at, and a prepared statement is counted by what it does.
        let counts = !name.starts_with("show_") && !name.starts_with("stmt_");
        Some((name, value.parse::<f64>().ok()?)).filter(|_| counts)
    };
    Ok(status.into_iter().filter_map(kind).collect())
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
