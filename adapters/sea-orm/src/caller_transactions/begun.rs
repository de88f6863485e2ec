use std::sync::Arc;

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;

#[cfg(feature = "mysql")]
use crate::caller_transactions::own::Watched;
use crate::{
    caller_transactions::savepoint::Savepoint,
    database::{Database, dialect::Dialect},
};

/// Transactions that callers begin and write in, on the outbox's own database.
pub(crate) struct CallerTransactions {
    pub(crate) db: Arc<Database>,
}

impl CallerTransactions {
    /// Does work in a caller's transaction. If it fails it leaves nothing of itself there.
    ///
    /// The connection has to prove that it is in a transaction on the outbox's own database.
    pub(crate) async fn within<C: ConnectionTrait, T>(
        &self,
        on: &C,
        operation: &'static str,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let savepoint = Savepoint::set(&self.db, on, operation).await?;
        savepoint.end(work.await).await
    }

    /// The same in a transaction of the outbox's own. It proves no more than it has to; one that another outbox has begun has to
    /// prove everything.
    #[cfg(feature = "mysql")]
    pub(crate) async fn within_own<T>(
        &self,
        tx: &Watched,
        operation: &'static str,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        tx.call_begins();
        let done = self.within_call(tx, operation, work).await;
        tx.call_ends();
        done
    }

    #[cfg(feature = "mysql")]
    async fn within_call<T>(
        &self,
        tx: &Watched,
        operation: &'static str,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if !tx.is_plain() || !tx.is_of(&self.db) {
            self.check_backend(tx, operation)?;
            return self.within(tx, operation, work).await;
        }
        let savepoint = Savepoint::renew(&self.db, tx, operation).await?;
        savepoint.end(work.await).await
    }

    /// Refuses a connection to a database of another kind.
    pub(crate) fn check_backend(
        &self,
        on: &impl ConnectionTrait,
        operation: &'static str,
    ) -> Result<(), StoreError> {
        let unsupported = |why: String| Err(StoreError::new(StoreErrorKind::Unsupported, operation, why));
        match Dialect::of_backend(on.get_database_backend()) {
            Ok(dialect) if dialect == self.db.dialect => Ok(()),
            Ok(dialect) => unsupported(format!(
                "the outbox is a {:?} one and the connection a {dialect:?} one",
                self.db.dialect
            )),
            Err(why) => unsupported(why),
        }
    }
}
