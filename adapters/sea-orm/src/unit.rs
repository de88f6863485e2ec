use std::{
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream_domain::{ClaimId, PayloadLimit, ShardCount};
use claimstream_ports::{MessageOutcome, StoreError, StoreErrorKind};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, QueryResult, SqliteTransactionMode, Statement,
    TransactionOptions, TransactionTrait, Value,
};
use tracing::Instrument;

use crate::{
    args::Args,
    classify::{classify, corrupt},
    clock::ServerClock,
    dialect::Dialect,
    gather::Gather,
    introductions::Introductions,
    lanes::Lanes,
    packet::Packet,
    statements::Statements,
    strategy::Strategy,
    takings::Takings,
};

/// What every unit of work needs; shared by all handles of one outbox.
pub(crate) struct Store {
    pub(crate) db: DatabaseConnection,
    pub(crate) dialect: Dialect,
    pub(crate) strategy: Strategy,
    pub(crate) sql: Statements,
    pub(crate) clock: ServerClock,
    pub(crate) shards: ShardCount,
    pub(crate) limit: PayloadLimit,
    pub(crate) packet: Packet,
    pub(crate) lanes: Lanes,
    pub(crate) introductions: Introductions,
    pub(crate) last_lease: Mutex<Option<(ClaimId, i64)>>,
    pub(crate) takings: Takings,
    pub(crate) outcomes: Gather<MessageOutcome>,
    pub(crate) runtime: tokio::runtime::Handle,
}

impl Store {
    const TRANSIENT_TRIES: u32 = 6;

    /// Runs a unit of work as its own task, so that a dropped caller detaches from it and any executor may wait for it.
    pub(crate) async fn detached<T: Send + 'static>(
        self: &Arc<Self>,
        operation: &'static str,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.runtime.spawn(work.in_current_span()).await {
            Ok(done) => done,
            Err(lost) => Err(StoreError::new(StoreErrorKind::Unavailable, operation, lost)),
        }
    }

    /// Repeats a whole transaction that met a deadlock or a lock wait, a few times, after short waits that differ.
    pub(crate) async fn restarting<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        mut transaction: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match transaction().await {
                Err(error) if error.kind() == StoreErrorKind::Transient && tries < Self::TRANSIENT_TRIES => {
                    tracing::debug!(operation = error.operation(), tries, %error, "restart");
                    tokio::time::sleep(restart_wait(tries)).await;
                }
                Err(error) => {
                    self.clock.forget();
                    return Err(error);
                }
                done => return done,
            }
        }
    }

    /// Begins a transaction that takes its write lock first where the database has only one.
    pub(crate) async fn begin(&self, operation: &'static str) -> Result<DatabaseTransaction, StoreError> {
        let begun = match self.dialect {
            Dialect::MySql => self.db.begin().await,
            Dialect::Sqlite => {
                let sqlite_transaction_mode = Some(SqliteTransactionMode::Immediate);
                self.db
                    .begin_with_options(TransactionOptions { sqlite_transaction_mode, ..Default::default() })
                    .await
            }
        };
        begun.map_err(|e| classify(operation, e))
    }

    /// Arguments to start from: SQLite is told the time, a server knows it.
    pub(crate) fn args(&self) -> Args {
        args_of(self.dialect, &self.clock)
    }
}

pub(crate) fn args_of(dialect: Dialect, clock: &ServerClock) -> Args {
    match dialect {
        Dialect::MySql => Args::new(),
        Dialect::Sqlite => Args::new().with("now", clock.local()),
    }
}

pub(crate) async fn run(
    on: &impl ConnectionTrait,
    operation: &'static str,
    statement: Statement,
) -> Result<u64, StoreError> {
    let done = on.execute_raw(statement).await.map_err(|e| classify(operation, e))?;
    Ok(done.rows_affected())
}

pub(crate) async fn rows(
    on: &impl ConnectionTrait,
    operation: &'static str,
    statement: Statement,
) -> Result<Vec<Row>, StoreError> {
    let found = on.query_all_raw(statement).await.map_err(|e| classify(operation, e))?;
    Ok(found.into_iter().map(|row| Row { row, operation }).collect())
}

/// A row of an answer, read by position as the statement's file lists its columns.
pub(crate) struct Row {
    row: QueryResult,
    operation: &'static str,
}

impl Row {
    /// The row is not what it must be.
    pub(crate) fn corrupt(&self, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        corrupt(self.operation, why)
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.maybe_int(column)?.ok_or_else(|| corrupt(self.operation, format!("column {column} is NULL")))
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        // Drivers are strict about signs, and a refusal is dear: statements on hot paths cast to SIGNED.
        let wide = self.row.try_get_by_index::<Option<i64>>(column);
        let unsigned = || self.row.try_get_by_index::<Option<u64>>(column).map(|n| n.map(|n| n as i64));
        wide.or_else(|_| unsigned()).map_err(|e| classify(self.operation, e))
    }

    pub(crate) fn maybe_bytes(&self, column: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.row.try_get_by_index::<Option<Vec<u8>>>(column).map_err(|e| classify(self.operation, e))
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<Vec<u8>, StoreError> {
        self.maybe_bytes(column)?.ok_or_else(|| corrupt(self.operation, format!("column {column} is NULL")))
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        let text = self.maybe_bytes(column)?.map(String::from_utf8).transpose();
        text.map_err(|e| corrupt(self.operation, e))
    }

    pub(crate) fn text(&self, column: usize) -> Result<String, StoreError> {
        self.maybe_text(column)?.ok_or_else(|| corrupt(self.operation, format!("column {column} is NULL")))
    }

    pub(crate) fn named_text(&self, column: &str) -> Result<Option<String>, StoreError> {
        self.row.try_get_by::<Option<String>, _>(column).map_err(|e| classify(self.operation, e))
    }

    pub(crate) fn uuid(&self, column: usize) -> Result<uuid::Uuid, StoreError> {
        uuid::Uuid::from_slice(&self.bytes(column)?).map_err(|e| corrupt(self.operation, e))
    }

    pub(crate) fn number<T: TryFrom<i64>>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.int(column)?;
        T::try_from(value).map_err(|_| corrupt(self.operation, format!("{value} is out of range")))
    }
}

/// Text, or NULL.
pub(crate) fn maybe(text: Option<&str>) -> Value {
    Value::String(text.map(ToOwned::to_owned))
}

fn restart_wait(tries: u32) -> Duration {
    let jitter = uuid::Uuid::now_v7().as_u64_pair().1 % 4;
    Duration::from_millis((1 << tries.min(6)) + jitter)
}
