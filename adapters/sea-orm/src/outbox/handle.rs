use std::sync::Arc;

use claimstream_domain::{PayloadLimit, ShardCount};
use claimstream_ports::StoreError;
use sea_orm::DatabaseConnection;

#[cfg(feature = "mysql")]
use super::login::Login;
use crate::{database::dialect::Dialect, outbox::state::OutboxState, strategy::choice::Strategy};

/// An outbox in a MySQL, MariaDB or SQLite database; implements every port of Claimstream.
///
/// Clones share one pool.
#[derive(Clone)]
pub struct SeaOrmOutbox {
    pub(crate) state: Arc<OutboxState>,
}

impl SeaOrmOutbox {
    /// The strategy in use, after `auto` has chosen.
    pub fn strategy(&self) -> Strategy {
        self.state.strategy
    }

    /// The pool of callers, for their own statements; it is [hardened](crate::HardenedPool), or the one that was
    /// [handed in](Self::from_pool).
    pub fn connection(&self) -> &DatabaseConnection {
        self.state.db.callers()
    }

    /// The pool of claims, renewals, settlements, locks and sweeps, to be measured. A connection that is taken out of it is
    /// missing there.
    pub fn relay_connection(&self) -> &DatabaseConnection {
        self.state.db.relay()
    }

    /// The login of its connections, to change the password.
    #[cfg(feature = "mysql")]
    pub fn login(&self) -> Login {
        Login(Arc::downgrade(&self.state))
    }

    /// The family of the database.
    pub fn dialect(&self) -> Dialect {
        self.state.db.dialect
    }

    /// Into how many shards queues were cut when this outbox was opened; [`shard_status`](Self::shard_status) says how many there are now.
    pub fn shards(&self) -> ShardCount {
        self.state.enqueueing.shards
    }

    /// The largest payload that is taken.
    pub fn payload_limit(&self) -> PayloadLimit {
        self.state.db.limits.payload
    }

    /// Does work in a task of its own: a caller that is dropped detaches from it instead of cutting it.
    pub(crate) async fn detached<T, F>(
        &self,
        operation: &'static str,
        work: impl FnOnce(Arc<OutboxState>) -> F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.state.db.detached(operation, work(Arc::clone(&self.state))).await
    }
}

impl std::fmt::Debug for SeaOrmOutbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeaOrmOutbox")
            .field("dialect", &self.state.db.dialect)
            .field("strategy", &self.state.strategy)
            .finish_non_exhaustive()
    }
}
