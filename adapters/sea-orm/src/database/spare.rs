use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::DbErr;

use super::{
    Database, args::Args, caller_pool::CallerPool, classify::is_pool_timeout, dialect::Dialect, unit::rows,
};

/// Connections to spare for callers.
impl Database {
    /// The error of a caller that waited for a connection without success. If the database answers on the outbox's own connections, it is
    /// not away: other callers have all connections in hand.
    pub(crate) async fn none_to_spare(&self, operation: &'static str, error: StoreError) -> StoreError {
        if !is_pool_exhausted(&error) || !self.is_reached(operation).await {
            return error;
        }
        let CallerPool { most, timeout, .. } = self.callers;
        let why = format!(
            "all {most} connections for callers were in use for {timeout:?}; raise max_connections, or have fewer handlers \
             run at once or hold a transaction for less long"
        );
        StoreError::new(StoreErrorKind::Transient, operation, why)
    }

    async fn is_reached(&self, operation: &'static str) -> bool {
        match self.dialect {
            // A file does not go away.
            Dialect::Sqlite => true,
            Dialect::MySql => {
                rows(self.relay(), operation, self.sql.session.now.bind(&Args::new())).await.is_ok()
            }
        }
    }
}

fn is_pool_exhausted(error: &StoreError) -> bool {
    error.get_ref().downcast_ref::<DbErr>().is_some_and(is_pool_timeout)
}
