use sea_orm::sqlx::{self, AssertSqlSafe, Executor, MySqlConnection, Row};

use super::{Claimed, Claimer, Design, marks};
use crate::{
    Failure,
    job::{Job, number_in},
};

const SHARDS: u64 = 3;

/// The first source text's table.
pub(super) const DESIGN: Design = Design {
    create: &["CREATE TABLE IF NOT EXISTS bench_s0 (
        id BIGINT NOT NULL AUTO_INCREMENT, shard_id INT NOT NULL, status VARCHAR(16) NOT NULL DEFAULT 'NEW',
        retry_count INT NOT NULL DEFAULT 0, next_retry_time DATETIME(3) NULL, lock_owner VARCHAR(64) NULL,
        lock_time DATETIME(3) NULL, lock_until DATETIME(3) NULL, last_error VARCHAR(500) NULL, created_at DATETIME(3) NOT NULL,
        updated_at DATETIME(3) NOT NULL, completed_at DATETIME(3) NULL, payload VARBINARY(2000) NOT NULL, PRIMARY KEY (id),
        KEY idx_claim (shard_id, status, next_retry_time, lock_until, id), KEY cleanup (shard_id, status, created_at))
        ENGINE = InnoDB"],
    empty: &["TRUNCATE TABLE bench_s0"],
    fill: &["INSERT INTO bench_s0 (id, shard_id, created_at, updated_at, payload)
        SELECT n + 1, n MOD 3, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), :payload FROM bench_numbers WHERE n < :backlog ORDER BY n"],
    remaining: "SELECT COUNT(*) FROM bench_s0 WHERE status <> 'SENT'",
};

const DUE: &str = "status IN ('NEW', 'FAILED') AND (next_retry_time IS NULL OR next_retry_time <= UTC_TIMESTAMP(3)) \
                   AND (lock_until IS NULL OR lock_until < UTC_TIMESTAMP(3))";

/// Three statements in a transaction that steps over locked rows; then one guarded update
/// for all of a claim, where the text has one for each message.
pub(super) struct S0 {
    connection: MySqlConnection,
    batch: u64,
    owner: String,
    shard: u64,
    /// How many claims in a row had nothing.
    empty: u64,
    ids: Vec<i64>,
}

impl S0 {
    pub(super) fn new(connection: MySqlConnection, job: &Job) -> Self {
        let owner = format!("instance {}", job.number);
        Self { connection, batch: job.batch, owner, shard: job.number, empty: 0, ids: Vec::new() }
    }

    /// The ids of due rows, locked.
    async fn lock(&mut self) -> Result<(), Failure> {
        let select = format!(
            "SELECT id FROM bench_s0 WHERE shard_id = ? AND {DUE} ORDER BY id ASC LIMIT ? FOR UPDATE SKIP LOCKED"
        );
        let select = sqlx::query(AssertSqlSafe(select)).bind(self.shard % SHARDS).bind(self.batch);
        let rows = select.fetch_all(&mut self.connection).await?;
        self.ids = rows.iter().map(|row| row.get(0)).collect();
        Ok(())
    }

    async fn mark_and_load(&mut self) -> Result<Vec<u64>, Failure> {
        let marks = marks(self.ids.len());
        let mark = format!(
            "UPDATE bench_s0 SET status = 'PROCESSING', lock_owner = ?, lock_time = UTC_TIMESTAMP(3), \
             lock_until = UTC_TIMESTAMP(3) + INTERVAL 30 SECOND, updated_at = UTC_TIMESTAMP(3) \
             WHERE shard_id = ? AND id IN ({marks}) AND {DUE}"
        );
        let mark = sqlx::query(AssertSqlSafe(mark)).bind(&self.owner).bind(self.shard % SHARDS);
        self.ids.iter().fold(mark, |query, id| query.bind(*id)).execute(&mut self.connection).await?;
        let load = format!("SELECT id, payload FROM bench_s0 WHERE shard_id = ? AND id IN ({marks})");
        let load = sqlx::query(AssertSqlSafe(load)).bind(self.shard % SHARDS);
        let load = self.ids.iter().fold(load, |query, id| query.bind(*id));
        let rows = load.fetch_all(&mut self.connection).await?;
        Ok(rows.iter().map(|row| number_in(row.get(1))).collect())
    }

    async fn transaction(&mut self) -> Result<Vec<u64>, Failure> {
        self.connection.execute("START TRANSACTION").await?;
        self.lock().await?;
        let numbers = if self.ids.is_empty() { Vec::new() } else { self.mark_and_load().await? };
        self.connection.execute("COMMIT").await?;
        Ok(numbers)
    }
}

impl Claimer for S0 {
    async fn claim(&mut self) -> Result<Claimed, Failure> {
        self.shard += 1;
        let numbers = match self.transaction().await {
            Ok(numbers) => numbers,
            Err(error) => {
                self.connection.execute("ROLLBACK").await?;
                return Err(error);
            }
        };
        if !numbers.is_empty() {
            self.empty = 0;
            return Ok(Claimed::Some(numbers));
        }
        // Others may have locked what is left; they will have it.
        self.empty += 1;
        Ok(if self.empty > 3 * SHARDS { Claimed::Drained } else { Claimed::Nothing })
    }

    async fn acknowledge(&mut self) -> Result<u64, Failure> {
        let done = format!(
            "UPDATE bench_s0 SET status = 'SENT', completed_at = UTC_TIMESTAMP(3), updated_at = UTC_TIMESTAMP(3) \
             WHERE id IN ({}) AND lock_owner = ? AND status = 'PROCESSING'",
            marks(self.ids.len())
        );
        let done = sqlx::query(AssertSqlSafe(done));
        let done = self.ids.iter().fold(done, |query, id| query.bind(*id)).bind(&self.owner);
        Ok(done.execute(&mut self.connection).await?.rows_affected())
    }
}
