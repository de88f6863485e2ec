use sea_orm::sqlx::{self, MySqlConnection, Row};

use super::{Claimed, Claimer, Design};
use crate::{
    Failure,
    job::{Job, number_in, sent_in, unix_micros},
};

const LANES: usize = 16;
const LEASE_MICROS: u64 = 30_000_000;

/// A narrow queue clustered on the order of claiming, bodies in another table, sixteen lanes: the library's design.
pub(super) const DESIGN: Design = Design {
    create: &[
        "CREATE TABLE IF NOT EXISTS bench_queue (
            id BIGINT UNSIGNED NOT NULL, shard_id SMALLINT UNSIGNED NOT NULL, available_at DATETIME(6) NOT NULL,
            attempts SMALLINT UNSIGNED NOT NULL DEFAULT 0, lock_token BIGINT UNSIGNED NOT NULL DEFAULT 0, prev_at DATETIME(6) NULL,
            PRIMARY KEY (shard_id, available_at, id)) ENGINE = InnoDB",
        "CREATE TABLE IF NOT EXISTS bench_body (
            id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, shard_id SMALLINT UNSIGNED NOT NULL,
            created_at DATETIME(6) NOT NULL, payload LONGBLOB NOT NULL) ENGINE = InnoDB",
    ],
    empty: &["TRUNCATE TABLE bench_queue", "TRUNCATE TABLE bench_body"],
    fill: &[
        "INSERT INTO bench_body (id, shard_id, created_at, payload)
         SELECT n + 1, n MOD 16, UTC_TIMESTAMP(6), :payload FROM bench_numbers WHERE n < :backlog ORDER BY n",
        "INSERT INTO bench_queue (id, shard_id, available_at)
         SELECT n + 1, n MOD 16, UTC_TIMESTAMP(6) - INTERVAL (:backlog - n) MICROSECOND FROM bench_numbers
          WHERE n < :backlog ORDER BY n MOD 16, n",
    ],
    remaining: "SELECT COUNT(*) FROM bench_queue",
};

const CLAIM: &str = "UPDATE bench_queue
    SET prev_at = available_at, available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND,
        lock_token = ?, attempts = attempts + 1
  WHERE shard_id = ? AND available_at <= UTC_TIMESTAMP(6)
    AND available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND
  ORDER BY available_at, id LIMIT ?";

const READ: &str = "SELECT q.id, b.payload, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.prev_at)
   FROM bench_queue q JOIN bench_body b ON b.id = q.id
  WHERE q.shard_id = ? AND q.available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND AND q.lock_token = ?";

const DONE: &str = "DELETE FROM bench_queue
  WHERE shard_id = ? AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND AND lock_token = ?";

/// An honest loop on one connection: preemptive update with a watermark, read back, one delete for each claim.
pub(super) struct Clustered {
    connection: MySqlConnection,
    batch: u64,
    lane: usize,
    /// The oldest due time of the last full claim of each lane, in microseconds since 1970.
    watermarks: [u64; LANES],
    /// How many lanes in a row had nothing at all.
    empty: usize,
    /// When the messages of the last claim were sent.
    sent: Vec<u64>,
    token: u64,
    claim: Key,
}

/// What the rows of a claim have in common.
#[derive(Clone, Copy, Default)]
struct Key {
    lane: u16,
    lease_end: u64,
    token: u64,
}

impl Clustered {
    pub(super) fn new(connection: MySqlConnection, job: &Job) -> Self {
        let lane = (job.number * LANES as u64 / job.instances) as usize % LANES;
        let (watermarks, token) = ([0; LANES], (job.number + 1) << 32);
        Self {
            connection,
            batch: job.batch,
            lane,
            watermarks,
            empty: 0,
            sent: Vec::new(),
            token,
            claim: Key::default(),
        }
    }

    fn next_claim(&mut self) {
        self.lane = (self.lane + 1) % LANES;
        self.token += 1;
        let lease_end = unix_micros() + LEASE_MICROS + self.token % 1000;
        self.claim = Key { lane: self.lane as u16, lease_end, token: self.token };
    }

    async fn mark(&mut self) -> Result<u64, Failure> {
        let claim = sqlx::query(CLAIM)
            .bind(self.claim.lease_end)
            .bind(self.claim.token)
            .bind(self.claim.lane)
            .bind(self.watermarks[self.lane])
            .bind(self.batch);
        Ok(claim.execute(&mut self.connection).await?.rows_affected())
    }
}

impl Claimer for Clustered {
    async fn claim(&mut self) -> Result<Claimed, Failure> {
        self.next_claim();
        let marked = self.mark().await?;
        if marked == 0 {
            // A lane counts as empty when its beginning was looked at too.
            self.empty = if self.watermarks[self.lane] == 0 { self.empty + 1 } else { 0 };
            self.watermarks[self.lane] = 0;
            if self.empty <= LANES {
                return Ok(Claimed::Nothing);
            }
            self.empty = 0;
            return Ok(Claimed::Drained);
        }
        self.empty = 0;
        let read = sqlx::query(READ).bind(self.claim.lane).bind(self.claim.lease_end).bind(self.claim.token);
        let rows = read.fetch_all(&mut self.connection).await?;
        let oldest = rows.iter().map(|row| row.get::<i64, _>(2)).min().unwrap_or_default();
        self.watermarks[self.lane] = if marked == self.batch { oldest as u64 } else { 0 };
        self.sent = rows.iter().map(|row| sent_in(row.get(1))).collect();
        Ok(Claimed::Some(rows.iter().map(|row| number_in(row.get(1))).collect()))
    }

    fn sent(&self) -> &[u64] {
        &self.sent
    }

    async fn acknowledge(&mut self) -> Result<u64, Failure> {
        let done = sqlx::query(DONE).bind(self.claim.lane).bind(self.claim.lease_end).bind(self.claim.token);
        Ok(done.execute(&mut self.connection).await?.rows_affected())
    }
}
