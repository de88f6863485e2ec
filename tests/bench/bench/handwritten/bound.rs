use sea_orm::sqlx::{self, AssertSqlSafe, MySqlConnection, Row};

use super::{Claimed, Claimer, Design, marks};
use crate::{
    Failure,
    job::{Job, number_in},
};

/// The bound of what a table can do: no index but the key, bodies not read.
pub(super) const CEIL: Design = Design {
    create: &["CREATE TABLE IF NOT EXISTS bench_ceil (
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, shard_id SMALLINT UNSIGNED NOT NULL, status TINYINT UNSIGNED NOT NULL DEFAULT 0,
        available_at DATETIME(6) NOT NULL, attempts SMALLINT UNSIGNED NOT NULL DEFAULT 0,
        lock_token BIGINT UNSIGNED NOT NULL DEFAULT 0, prev_at DATETIME(6) NULL, created_at DATETIME(6) NOT NULL,
        payload VARBINARY(2000) NOT NULL, PRIMARY KEY (id)) ENGINE = InnoDB"],
    empty: &["TRUNCATE TABLE bench_ceil"],
    fill: &["INSERT INTO bench_ceil (id, shard_id, available_at, created_at, payload)
        SELECT n + 1, 0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), :payload FROM bench_numbers WHERE n < :backlog ORDER BY n"],
    remaining: "SELECT COUNT(*) FROM bench_ceil WHERE status = 0",
};

/// The practical bound of a single table: the index for claiming is kept up, bodies are read.
pub(super) const CEILXR: Design = Design {
    create: &["CREATE TABLE IF NOT EXISTS bench_ceilxr (
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, shard_id SMALLINT UNSIGNED NOT NULL, status TINYINT UNSIGNED NOT NULL DEFAULT 0,
        available_at DATETIME(6) NOT NULL, attempts SMALLINT UNSIGNED NOT NULL DEFAULT 0,
        lock_token BIGINT UNSIGNED NOT NULL DEFAULT 0, prev_at DATETIME(6) NULL, created_at DATETIME(6) NOT NULL,
        payload VARBINARY(2000) NOT NULL, PRIMARY KEY (id), KEY idx_claim (shard_id, status, available_at)) ENGINE = InnoDB"],
    empty: &["TRUNCATE TABLE bench_ceilxr"],
    fill: &["INSERT INTO bench_ceilxr (id, shard_id, available_at, created_at, payload)
        SELECT n + 1, 0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), :payload FROM bench_numbers WHERE n < :backlog ORDER BY n"],
    remaining: "SELECT COUNT(*) FROM bench_ceilxr WHERE status = 0",
};

/// An instance that knows beforehand which rows are its own: nothing is searched, contended or fenced.
pub(super) struct Bound {
    connection: MySqlConnection,
    /// Which batch of all is next.
    next: u64,
    job: Job,
    with_bodies: bool,
    ids: Vec<u64>,
    statements: Statements,
}

struct Statements {
    size: usize,
    claim: String,
    read: String,
    done: String,
}

impl Bound {
    pub(super) fn new(connection: MySqlConnection, job: &Job, with_bodies: bool) -> Self {
        let statements = Statements::of(job.batch as usize, with_bodies);
        Self { connection, next: job.number, job: job.clone(), with_bodies, ids: Vec::new(), statements }
    }

    fn next_batch(&mut self) {
        let first = self.next * self.job.batch;
        let end = (first + self.job.batch).min(self.job.backlog);
        self.ids = (first + 1..end + 1).collect();
        self.next += self.job.instances;
        // Only the last batch of all may be smaller.
        if self.ids.len() != self.statements.size {
            self.statements = Statements::of(self.ids.len(), self.with_bodies);
        }
    }
}

impl Claimer for Bound {
    async fn claim(&mut self) -> Result<Claimed, Failure> {
        self.next_batch();
        if self.ids.is_empty() {
            return Ok(Claimed::Drained);
        }
        let claim = sqlx::query(AssertSqlSafe(self.statements.claim.as_str())).bind(7_u64);
        let claim = self.ids.iter().fold(claim, |query, id| query.bind(*id));
        claim.execute(&mut self.connection).await?;
        if !self.with_bodies {
            return Ok(Claimed::Some(self.ids.iter().map(|id| id - 1).collect()));
        }
        let read = sqlx::query(AssertSqlSafe(self.statements.read.as_str()));
        let read = self.ids.iter().fold(read, |query, id| query.bind(*id));
        let rows = read.fetch_all(&mut self.connection).await?;
        Ok(Claimed::Some(rows.iter().map(|row| number_in(row.get(1))).collect()))
    }

    async fn acknowledge(&mut self) -> Result<u64, Failure> {
        let done = sqlx::query(AssertSqlSafe(self.statements.done.as_str()));
        let done = self.ids.iter().fold(done, |query, id| query.bind(*id));
        Ok(done.execute(&mut self.connection).await?.rows_affected())
    }
}

impl Statements {
    fn of(size: usize, with_bodies: bool) -> Self {
        let marks = marks(size);
        let table = if with_bodies { "bench_ceilxr" } else { "bench_ceil" };
        Self {
            size,
            claim: format!(
                "UPDATE {table} SET available_at = UTC_TIMESTAMP(6) + INTERVAL 30 SECOND, lock_token = ?, \
                 attempts = attempts + 1 WHERE id IN ({marks})"
            ),
            read: format!("SELECT id, payload FROM {table} WHERE id IN ({marks})"),
            done: format!("UPDATE {table} SET status = 1 WHERE id IN ({marks})"),
        }
    }
}
