use std::{str::FromStr, time::Duration};

use sea_orm::sqlx::{
    self, AssertSqlSafe, Connection, Executor, Row, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use super::{Claimed, Claimer};
use crate::{
    Failure,
    job::{Job, number_in, payload, sent_in, unix_micros},
};

const LEASE_MICROS: u64 = 30_000_000;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS bench_queue (
    id INTEGER PRIMARY KEY, available_at INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    token INTEGER NOT NULL DEFAULT 0, payload BLOB NOT NULL);
    CREATE INDEX IF NOT EXISTS bench_due ON bench_queue (available_at)";

const CLAIM: &str = "UPDATE bench_queue SET available_at = ?, token = ?, attempts = attempts + 1
    WHERE id IN (SELECT id FROM bench_queue WHERE available_at <= ? ORDER BY available_at, id LIMIT ?) RETURNING payload";

const DONE: &str = "DELETE FROM bench_queue WHERE available_at = ? AND token = ?";

/// A queue as people write it in an afternoon, on a file of SQLite: one table, one statement for a claim, one for its end.
///
/// The file is as durable as the library's: a write-ahead log that every commit syncs.
pub(crate) struct Sqlite {
    connection: SqliteConnection,
    batch: u64,
    token: u64,
    lease_end: u64,
    sent: Vec<u64>,
}

impl Sqlite {
    /// Opens the job's file and makes the table if it is not there.
    pub(crate) async fn open(job: &Job) -> Result<Self, Failure> {
        let options = SqliteConnectOptions::from_str(&job.url)?
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(5));
        let mut connection = SqliteConnection::connect_with(&options).await?;
        connection.execute(TABLE).await?;
        Ok(Self { connection, batch: job.batch, token: job.number << 32, lease_end: 0, sent: Vec::new() })
    }

    /// Enqueues these messages in a transaction.
    pub(crate) async fn insert(
        &mut self,
        numbers: impl Iterator<Item = u64>,
        sent: u64,
        bytes: usize,
    ) -> Result<(), Failure> {
        let payloads: Vec<_> = numbers.map(|number| payload(number, sent, bytes)).collect();
        let rows = vec!["(?, ?)"; payloads.len()].join(", ");
        let insert = format!("INSERT INTO bench_queue (available_at, payload) VALUES {rows}");
        let now = unix_micros() as i64;
        let insert = sqlx::query(AssertSqlSafe(insert));
        let insert = payloads.into_iter().fold(insert, |query, payload| query.bind(now).bind(payload));
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        insert.execute(&mut *transaction).await?;
        Ok(transaction.commit().await?)
    }

    /// How many messages are left.
    pub(crate) async fn remaining(&mut self) -> Result<u64, Failure> {
        let row = self.connection.fetch_one("SELECT COUNT(*) FROM bench_queue").await?;
        Ok(row.try_get::<i64, _>(0)? as u64)
    }
}

impl Claimer for Sqlite {
    async fn claim(&mut self) -> Result<Claimed, Failure> {
        self.token += 1;
        let now = unix_micros();
        self.lease_end = now + LEASE_MICROS;
        let claim = sqlx::query(CLAIM)
            .bind(self.lease_end as i64)
            .bind(self.token as i64)
            .bind(now as i64)
            .bind(self.batch as i64);
        let rows = claim.fetch_all(&mut self.connection).await?;
        if rows.is_empty() {
            return Ok(Claimed::Drained);
        }
        self.sent = rows.iter().map(|row| sent_in(row.get(0))).collect();
        Ok(Claimed::Some(rows.iter().map(|row| number_in(row.get(0))).collect()))
    }

    fn sent(&self) -> &[u64] {
        &self.sent
    }

    async fn acknowledge(&mut self) -> Result<u64, Failure> {
        let done = sqlx::query(DONE).bind(self.lease_end as i64).bind(self.token as i64);
        Ok(done.execute(&mut self.connection).await?.rows_affected())
    }
}
