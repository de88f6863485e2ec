use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream_domain::{ClaimId, PayloadLimit, ShardCount};
use claimstream_ports::{MessageOutcome, StoreError, StoreErrorKind};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbErr, QueryResult, RuntimeErr, Statement, Value, sqlx,
    sqlx::Row as _,
};
use tracing::Instrument;

use crate::{
    caller_transactions::identity::Identity,
    claim::{announcements::Introductions, known_shards::Lanes, weights::Weights},
    database::{
        args::Args,
        caller_pool::Callers,
        classify::{TookTooLong, classify, corrupt, is_outage},
        clock::ServerClock,
        coalescer::Gather,
        connecting,
        dialect::Dialect,
        outage::Outage,
        packet::Packet,
    },
    failover::Failover,
    settle::open_claims::Takings,
    statements::Statements,
    strategy::{
        choice::Strategy,
        order::Order,
        shard_lease::{Ahead, Busy, Holds, Lone},
    },
    sweep::Upkeep,
};

/// What every unit of work needs; shared by all handles of one outbox.
pub(crate) struct Store {
    /// For the outbox's own work: claims, renewals, settlements, locks, sweeps and questions of operators.
    pub(crate) db: DatabaseConnection,
    pub(crate) callers: Callers,
    pub(crate) dialect: Dialect,
    pub(crate) strategy: Strategy,
    pub(crate) order: Order,
    /// Who holds leases: this outbox, as long as it is open.
    pub(crate) holder: Value,
    pub(crate) holds: Holds,
    pub(crate) lone: Lone,
    pub(crate) ahead: Ahead,
    pub(crate) sql: Statements,
    pub(crate) clock: ServerClock,
    pub(crate) shards: ShardCount,
    pub(crate) identity: Identity,
    pub(crate) limit: PayloadLimit,
    pub(crate) packet: Packet,
    pub(crate) outage: Outage,
    pub(crate) failover: Failover,
    pub(crate) lanes: Lanes,
    pub(crate) introductions: Introductions,
    pub(crate) last_lease: Mutex<Option<(ClaimId, i64)>>,
    pub(crate) takings: Takings,
    pub(crate) weights: Weights,
    pub(crate) outcomes: Arc<Gather<MessageOutcome>>,
    pub(crate) upkeep: Upkeep,
    pub(crate) runtime: tokio::runtime::Handle,
    /// How long to wait for a connection, or for one's turn to wait for one.
    pub(crate) acquire_timeout: Duration,
    #[cfg(feature = "mysql")]
    pub(crate) berth: crate::database::connection_cache::Berth,
}

#[cfg(feature = "mysql")]
impl Drop for Store {
    /// The pool takes connections back by tasks, wherever the outbox is dropped.
    fn drop(&mut self) {
        let _entered = self.runtime.enter();
        self.berth.clear();
        self.callers.berth.clear();
    }
}

tokio::task_local! {
    /// How long a statement may take where a unit of work of ours runs. A caller's own connection waits as long as its
    /// session lets it, and must not be left in the middle of an answer.
    static DEADLINE: Duration;
}

type Work<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

impl Store {
    const DEADLINE: Duration = Duration::from_secs(20);
    /// How much longer than a wait for a connection a statement may take at least: one for a lock, and some time to answer.
    const AT_LEAST: Duration = Duration::from_secs(10);
    const TRANSIENT_TRIES: u32 = 6;
    const OUTAGE_TRIES: u32 = 7;

    /// Longer than a wait for a connection and one for a lock: whoever waits for others of this process has met no outage.
    fn deadline(&self) -> Duration {
        Self::DEADLINE.max(self.acquire_timeout + Self::AT_LEAST)
    }

    /// A unit of work, or a part of one, that may also have to wait for other callers.
    pub(crate) async fn waiting<T>(&self, work: impl Future<Output = T>) -> T {
        DEADLINE.scope(self.deadline() + self.callers.patience, work).await
    }

    /// Runs a unit of work as its own task, so that a dropped caller detaches from it and any executor may wait for it.
    ///
    /// The work is boxed here: a caller whose future contained it would contain the futures of all its statements, and the
    /// compiler gives up on what is nested so deeply.
    pub(crate) fn detached<T: Send + 'static>(
        self: &Arc<Self>,
        operation: &'static str,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send {
        let (store, work) = (Arc::clone(self), Box::pin(work) as Work<T>);
        async move {
            let (runtime, deadline) = (store.runtime.clone(), store.deadline());
            let work = async move {
                match work.await {
                    Err(error) => Err(connecting::explained(&store.db, error).await),
                    done => done,
                }
            };
            match runtime.spawn(DEADLINE.scope(deadline, work.in_current_span())).await {
                Ok(done) => done,
                Err(lost) => Err(StoreError::new(StoreErrorKind::Unavailable, operation, lost)),
            }
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
                Err(error) if may_restart(&error) && tries < Self::TRANSIENT_TRIES => {
                    tracing::debug!(operation = error.operation(), tries, %error, "restart");
                    tokio::time::sleep(restart_wait(tries)).await;
                }
                Err(error) => {
                    self.note_trouble(&error);
                    return Err(error);
                }
                done => return done,
            }
        }
    }

    /// The same on connections of those that callers have. The error of one that waited for such a connection in vain is
    /// `Transient` and names the setting, and the wait is not repeated.
    pub(crate) async fn restarting_beside<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        operation: &'static str,
        transaction: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        match self.waiting(self.restarting(transaction)).await {
            Err(error) => Err(self.none_to_spare(operation, error).await),
            done => done,
        }
    }

    /// Asks what became of something although the store may be away for a moment: for about three seconds.
    pub(crate) async fn asking_back<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        mut question: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.restarting(&mut question).await {
                Err(error) if error.kind() == StoreErrorKind::Unavailable && tries < Self::OUTAGE_TRIES => {
                    tokio::time::sleep(Duration::from_millis(25 << tries)).await;
                }
                done => return done,
            }
        }
    }

    /// The next connection may lead to another server, and those in the pool may lead nowhere.
    pub(crate) fn note_trouble(&self, error: &StoreError) {
        self.clock.forget();
        if is_outage(error) {
            self.outage.note();
        }
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
    let done = in_time(operation, on.execute_raw(statement), classify).await?;
    Ok(done.rows_affected())
}

pub(crate) async fn rows(
    on: &impl ConnectionTrait,
    operation: &'static str,
    statement: Statement,
) -> Result<Vec<Row>, StoreError> {
    let found = in_time(operation, on.query_all_raw(statement), classify).await?;
    Ok(found.into_iter().map(|row| Row { row, operation }).collect())
}

/// What a connection answers that is opened for this one question, however long others keep those of the pool.
pub(crate) async fn rows_beside_the_pool(
    store: &Store,
    operation: &'static str,
    question: Statement,
) -> Result<Vec<Row>, StoreError> {
    let answer = crate::database::link::ask_beside_the_pool(&store.db, store.dialect, question);
    let found = in_time(operation, answer, classify).await?;
    Ok(found.into_iter().map(|row| Row { row, operation }).collect())
}

/// Waits for an answer, with a deadline where a unit of work of ours runs: a frozen server or a cut link must not hold it
/// for ever. The connection is then dropped in the middle of the answer, and the pool closes it.
pub(crate) async fn in_time<T>(
    operation: &'static str,
    answer: impl Future<Output = Result<T, DbErr>>,
    classify: fn(&'static str, DbErr) -> StoreError,
) -> Result<T, StoreError> {
    let Ok(deadline) = DEADLINE.try_with(|deadline| *deadline) else {
        return answer.await.map_err(|e| classify(operation, e));
    };
    match tokio::time::timeout(deadline, answer).await {
        Ok(answer) => answer.map_err(|e| classify(operation, e)),
        Err(_) => Err(StoreError::new(StoreErrorKind::Unavailable, operation, TookTooLong(deadline))),
    }
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

    /// The bytes where the driver has them.
    pub(crate) fn maybe_lent(&self, column: usize) -> Result<Option<&[u8]>, StoreError> {
        let found: Option<Result<_, sqlx::Error>> = None;
        #[cfg(feature = "mysql")]
        let found = found.or_else(|| Some(self.row.try_as_mysql_row()?.try_get(column)));
        #[cfg(feature = "sqlite")]
        let found = found.or_else(|| Some(self.row.try_as_sqlite_row()?.try_get(column)));
        let found = found.ok_or_else(|| self.corrupt("no driver of ours has read it"))?;
        found.map_err(|e| classify(self.operation, DbErr::Query(RuntimeErr::SqlxError(e.into()))))
    }

    /// The text where the driver has it.
    pub(crate) fn maybe_lent_text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        self.maybe_lent(column)?.map(str::from_utf8).transpose().map_err(|e| self.corrupt(e))
    }

    pub(crate) fn uuid(&self, column: usize) -> Result<uuid::Uuid, StoreError> {
        uuid::Uuid::from_slice(self.maybe_lent(column)?.unwrap_or_default()).map_err(|e| self.corrupt(e))
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

/// Whether it may go well in a moment; who waited for his turn has waited for long enough.
fn may_restart(error: &StoreError) -> bool {
    error.kind() == StoreErrorKind::Transient && !error.get_ref().is::<Busy>()
}

fn restart_wait(tries: u32) -> Duration {
    let jitter = uuid::Uuid::now_v7().as_u64_pair().1 % 4;
    Duration::from_millis((1 << tries.min(6)) + jitter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_that_never_comes_is_an_outage_for_our_own_work_only() {
        let never = || in_time("claim", std::future::pending::<Result<(), DbErr>>(), classify);
        let error = DEADLINE.scope(Duration::from_millis(5), never()).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        assert!(is_outage(&error));
        assert!(tokio::time::timeout(Duration::from_millis(20), never()).await.is_err());
    }
}
