use std::time::Duration;

use sea_orm::sqlx::{self, AssertSqlSafe, MySqlConnection, Row};
use uuid::Uuid;

use super::{Claimed, Claimer, Design, marks};
use crate::{
    Failure,
    job::{Job, number_in},
};

/// The second source text's table.
pub(super) const DESIGN: Design = Design {
    create: &["CREATE TABLE IF NOT EXISTS bench_s1 (
        outbox_id BIGINT NOT NULL AUTO_INCREMENT, instance_id CHAR(36) NULL, status VARCHAR(16) NOT NULL DEFAULT 'PENDING',
        retry_count INT NOT NULL DEFAULT 0, next_retry_at DATETIME NULL, created_at TIMESTAMP NOT NULL, processed_at DATETIME NULL,
        payload VARBINARY(2000) NOT NULL, PRIMARY KEY (outbox_id), KEY idx_instance (instance_id)) ENGINE = InnoDB"],
    empty: &["TRUNCATE TABLE bench_s1"],
    fill: &["INSERT INTO bench_s1 (outbox_id, created_at, payload)
        SELECT n + 1, CURRENT_TIMESTAMP, :payload FROM bench_numbers WHERE n < :backlog ORDER BY n"],
    remaining: "SELECT COUNT(*) FROM bench_s1 WHERE status <> 'SUCCESS'",
};

const CLAIM: &str = "UPDATE bench_s1 SET instance_id = ?, status = 'IN_PROGRESS'
  WHERE instance_id IS NULL AND outbox_id IN (SELECT outbox_id FROM (
        SELECT outbox_id FROM bench_s1 WHERE status IN ('PENDING', 'FAILED')
           AND (next_retry_at IS NULL OR next_retry_at <= NOW()) AND instance_id IS NULL
         ORDER BY created_at ASC LIMIT ?) AS subquery)";

/// An update with a subquery, committed at once, and a select by a fresh instance id; then one update for all of a claim,
/// where the text has one for each message.
pub(super) struct S1 {
    connection: MySqlConnection,
    batch: u64,
    /// How many claims in a row had nothing.
    empty: u32,
    ids: Vec<i64>,
}

impl S1 {
    pub(super) fn new(connection: MySqlConnection, job: &Job) -> Self {
        Self { connection, batch: job.batch, empty: 0, ids: Vec::new() }
    }
}

impl Claimer for S1 {
    async fn claim(&mut self) -> Result<Claimed, Failure> {
        let instance = Uuid::new_v4().to_string();
        let claim = sqlx::query(CLAIM).bind(&instance).bind(self.batch).execute(&mut self.connection).await?;
        if claim.rows_affected() == 0 {
            // Mostly because another instance has just taken the same rows.
            self.empty += 1;
            tokio::time::sleep(Duration::from_millis(2)).await;
            return Ok(if self.empty > 1000 { Claimed::Drained } else { Claimed::Nothing });
        }
        self.empty = 0;
        let read =
            sqlx::query("SELECT outbox_id, payload FROM bench_s1 WHERE instance_id = ?").bind(&instance);
        let rows = read.fetch_all(&mut self.connection).await?;
        self.ids = rows.iter().map(|row| row.get(0)).collect();
        Ok(Claimed::Some(rows.iter().map(|row| number_in(row.get(1))).collect()))
    }

    async fn acknowledge(&mut self) -> Result<u64, Failure> {
        let done = format!(
            "UPDATE bench_s1 SET status = 'SUCCESS', processed_at = NOW() WHERE outbox_id IN ({})",
            marks(self.ids.len())
        );
        let done = sqlx::query(AssertSqlSafe(done));
        let done = self.ids.iter().fold(done, |query, id| query.bind(*id));
        Ok(done.execute(&mut self.connection).await?.rows_affected())
    }
}
