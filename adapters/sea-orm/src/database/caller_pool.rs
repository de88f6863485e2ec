use std::time::Duration;

use sea_orm::DatabaseConnection;

#[cfg(feature = "mysql")]
use super::connection_cache::{ConnectionCache, Wanted};
/// The connections that callers have in hand, and keep for as long as they like: their transactions, and what handlers ask
/// the outbox for.
///
/// Claims, renewals, settlements, locks and sweeps have others, so that no number of handlers keeps a lease from being
/// renewed.
pub(crate) struct CallerPool {
    pub(crate) connections: DatabaseConnection,
    pub(crate) most: u32,
    /// They were handed in: nobody but their owner changes their sessions or keeps them at hand.
    #[cfg(feature = "mysql")]
    pub(crate) are_given: bool,
    /// How long a caller waits for one of them.
    pub(crate) patience: Duration,
    #[cfg(feature = "mysql")]
    pub(crate) cache: ConnectionCache,
}

impl CallerPool {
    /// To be held while somebody waits for a connection in order to keep it: what is at hand goes back if none is free.
    #[cfg(feature = "mysql")]
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        let wanted = self.cache.wanted();
        let pool = self.connections.get_mysql_connection_pool();
        if pool.num_idle() == 0 && pool.size() >= self.most {
            self.cache.clear();
        }
        wanted
    }
}
