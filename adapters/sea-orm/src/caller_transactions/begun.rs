use std::sync::Arc;

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;

use crate::{
    caller_transactions::savepoint::Savepoint,
    database::{Database, dialect::Dialect, identity::Identity},
};

/// Transactions that callers begin and write in, on the outbox's own database.
pub(crate) struct CallerTransactions {
    pub(crate) db: Arc<Database>,
    /// Tells the outbox's own database from any other.
    pub(crate) identity: Identity,
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
        let savepoint = Savepoint::set((&self.db, self.identity), on, operation).await?;
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
