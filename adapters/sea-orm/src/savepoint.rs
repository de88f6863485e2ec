use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;

use crate::{
    args::Args,
    classify::classify,
    dialect::Dialect,
    sql::{Sql, text},
    unit::Store,
};

/// A point in a caller's transaction that a call goes back to if it fails.
///
/// A body without its queue entry would make every repeat of the call a duplicate of a message that nobody gets. The
/// caller may commit after a failure, because a lock wait or a killed statement leaves the transaction open; so whatever
/// the call has written is taken back before the failure is told. That costs one short round trip; deciding by what is
/// left in other tables cannot work, because a settled message leaves nothing there.
pub(crate) struct Savepoint<'a, C> {
    store: &'a Store,
    on: &'a C,
    operation: &'static str,
}

impl<'a, C: ConnectionTrait> Savepoint<'a, C> {
    /// Sets it on a connection that is in a transaction.
    pub(crate) async fn set(
        store: &'a Store,
        on: &'a C,
        operation: &'static str,
    ) -> Result<Self, StoreError> {
        let savepoint = Self { store, on, operation };
        savepoint.send(&store.sql.savepoint_set).await?;
        Ok(savepoint)
    }

    /// Sets it on a connection that may be in a transaction, and refuses one that is not.
    pub(crate) async fn set_if_in_transaction(
        store: &'a Store,
        on: &'a C,
        operation: &'static str,
    ) -> Result<Self, StoreError> {
        let savepoint = Self { store, on, operation };
        let proof = savepoint.send(&store.sql.savepoint_proof).await;
        match (store.dialect, proof) {
            (Dialect::MySql, Ok(())) => Ok(savepoint),
            (Dialect::MySql, Err(error)) if error.kind() == StoreErrorKind::Unsupported => {
                Err(no_transaction(operation))
            }
            // On SQLite the proof works where there is no transaction, and is refused, having done nothing, where there
            // is one.
            (Dialect::Sqlite, Ok(())) => Err(no_transaction(operation)),
            (Dialect::Sqlite, Err(error)) if error.kind() == StoreErrorKind::Unsupported => {
                Self::set(store, on, operation).await
            }
            (_, Err(error)) => Err(error),
        }
    }

    /// Keeps what was written since if `done` is well, and takes it back otherwise.
    pub(crate) async fn end<T>(self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        match done {
            Ok(done) => {
                self.release().await?;
                Ok(done)
            }
            Err(error) => {
                // Where the failure has ended the whole transaction there is nothing to go back to.
                let _ = self.send(&self.store.sql.savepoint_undo).await;
                Err(error)
            }
        }
    }

    /// On a server the next savepoint of the same name takes its place, and a round trip is saved.
    async fn release(&self) -> Result<(), StoreError> {
        match self.store.dialect {
            Dialect::MySql => Ok(()),
            Dialect::Sqlite => self.execute(&text(include_str!("sql/sqlite/savepoint_release.sql"))).await,
        }
    }

    async fn send(&self, sql: &Sql) -> Result<(), StoreError> {
        self.execute(&sql.bind(&Args::new()).sql).await
    }

    async fn execute(&self, text: &str) -> Result<(), StoreError> {
        let done = self.on.execute_unprepared(text).await;
        done.map(|_| ()).map_err(|e| classify(self.operation, e))
    }
}

fn no_transaction(operation: &'static str) -> StoreError {
    let why = "the connection is not in a transaction, so a message could be stored by half; begin one, or use \
               enqueue_now";
    StoreError::new(StoreErrorKind::Unsupported, operation, why)
}
