use std::marker::PhantomData;

use async_trait::async_trait;
use claimstream_ports::{Measured, Pool, StoreError};
use sea_orm::{
    ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, ExecResult, QueryResult, SqliteTransactionMode,
    Statement, TransactionOptions, TransactionTrait,
};

use super::{
    Database,
    classify::{classify, classify_commit},
    deadline::in_time,
    dialect::Dialect,
    held::Held,
    servers::Peers,
};

/// A transaction of a unit of work of ours; it is rolled back if it is dropped.
///
/// It runs on a connection that is kept at hand, unless it is one of a file that callers have.
pub(crate) enum Transaction<'a> {
    Pooled(DatabaseTransaction, PhantomData<&'a Database>),
    Held(Held<'a>),
}

impl Transaction<'_> {
    pub(crate) fn of_pool(transaction: DatabaseTransaction) -> Self {
        Self::Pooled(transaction, PhantomData)
    }
}

impl Database {
    /// Begins a transaction that takes its write lock first where the database has only one.
    pub(crate) async fn begin(&self, operation: &'static str) -> Result<Transaction<'_>, StoreError> {
        in_time(operation, Held::begin(self), classify).await.map(Transaction::Held)
    }

    /// The same for what callers ask for, on a connection of those that they have.
    pub(crate) async fn begin_beside(&self, operation: &'static str) -> Result<Transaction<'_>, StoreError> {
        #[cfg(feature = "mysql")]
        if self.dialect == Dialect::MySql && !self.callers.are_given {
            let begun = self.waiting(in_time(operation, Held::begin_beside(self), classify)).await;
            return begun.map(Transaction::Held);
        }
        let begun = self.waiting(self.begin_of_callers(operation)).await?;
        Ok(Transaction::of_pool(begun))
    }

    /// The same for a caller to write in and to commit.
    ///
    /// If all connections stay in use the error is `Transient`: the database is there, and a caller that can wait may ask again.
    pub(crate) async fn begin_for_caller(
        &self,
        operation: &'static str,
    ) -> Result<DatabaseTransaction, StoreError> {
        #[cfg(feature = "mysql")]
        let _wanted = (self.dialect == Dialect::MySql).then(|| self.callers.wanted());
        let begun = match self.waiting(self.begin_of_callers(operation)).await {
            Err(error) => return Err(self.none_to_spare(operation, error).await),
            Ok(begun) => begun,
        };
        if self.health.servers.peers() == Peers::Group {
            let again = begun.execute_unprepared(self.sql.savepoint.begin_group.text());
            in_time(operation, again, classify).await?;
        }
        Ok(begun)
    }

    /// Begins a transaction on a connection of the callers' pool. How long that took is measured, also when it failed;
    /// on SQLite this includes the wait for the write lock of the file, because both are one call of the driver.
    async fn begin_of_callers(&self, operation: &'static str) -> Result<DatabaseTransaction, StoreError> {
        let sqlite_transaction_mode =
            (self.dialect == Dialect::Sqlite).then_some(SqliteTransactionMode::Immediate);
        let options = TransactionOptions { sqlite_transaction_mode, ..Default::default() };
        let waited = self.timer().stopwatch();
        let begin = || self.callers().begin_with_options(options);
        let begun = self.health.moves.reaching(self.callers.timeout, begin);
        let begun = in_time(operation, begun, classify).await;
        self.measure(Measured::WaitedForConnection { pool: Pool::Callers, took: waited.elapsed() });
        begun
    }

    /// Undoes what a transaction has written.
    pub(crate) async fn roll_back(
        &self,
        operation: &'static str,
        transaction: Transaction<'_>,
    ) -> Result<(), StoreError> {
        match transaction {
            Transaction::Pooled(transaction, _) => in_time(operation, transaction.rollback(), classify).await,
            Transaction::Held(held) => in_time(operation, held.end("ROLLBACK"), classify).await,
        }
    }

    /// Begins a transaction on a connection that is ours already.
    pub(crate) async fn begin_held(&self, operation: &'static str, on: &Held<'_>) -> Result<(), StoreError> {
        in_time(operation, on.start(), classify).await
    }

    /// Undoes what a transaction on a connection of ours has written.
    pub(crate) async fn roll_back_held(
        &self,
        operation: &'static str,
        on: &Held<'_>,
    ) -> Result<(), StoreError> {
        in_time(operation, on.end("ROLLBACK"), classify).await
    }

    /// Commits on a connection of ours, like [`commit`](Self::commit).
    pub(crate) async fn commit_held(&self, operation: &'static str, on: &Held<'_>) -> Result<(), StoreError> {
        let committed = in_time(operation, on.end("COMMIT"), classify_commit).await;
        committed.inspect_err(|error| self.note_trouble(error))
    }

    /// Commits; an error that leaves open whether it took effect is `Unavailable`.
    pub(crate) async fn commit(
        &self,
        operation: &'static str,
        transaction: Transaction<'_>,
    ) -> Result<(), StoreError> {
        let committed = match transaction {
            Transaction::Pooled(transaction, _) => {
                in_time(operation, transaction.commit(), classify_commit).await
            }
            Transaction::Held(held) => in_time(operation, held.end("COMMIT"), classify_commit).await,
        };
        committed.inspect_err(|error| self.note_trouble(error))
    }
}

#[async_trait]
impl ConnectionTrait for Transaction<'_> {
    fn get_database_backend(&self) -> DbBackend {
        match self {
            Self::Pooled(on, _) => on.get_database_backend(),
            Self::Held(on) => on.get_database_backend(),
        }
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        match self {
            Self::Pooled(on, _) => on.execute_raw(statement).await,
            Self::Held(on) => on.execute_raw(statement).await,
        }
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        match self {
            Self::Pooled(on, _) => on.execute_unprepared(sql).await,
            Self::Held(on) => on.execute_unprepared(sql).await,
        }
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        match self {
            Self::Pooled(on, _) => on.query_one_raw(statement).await,
            Self::Held(on) => on.query_one_raw(statement).await,
        }
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        match self {
            Self::Pooled(on, _) => on.query_all_raw(statement).await,
            Self::Held(on) => on.query_all_raw(statement).await,
        }
    }
}
