use std::time::Duration;

use super::brief::Brief;
#[cfg(feature = "mysql")]
use super::connection_cache::{ConnectionCache, Wanted};

/// The connections for callers, which keep them for as long as they like: for their transactions and for the calls of
/// handlers.
///
/// Claims, renewals, settlements, locks and sweeps have others, so that no number of handlers keeps a lease from being
/// renewed.
pub(crate) struct CallerPool {
    pub(crate) connections: Brief,
    pub(crate) most: u32,
    /// They were handed in: only their owner changes their sessions or keeps them at hand.
    #[cfg(feature = "mysql")]
    pub(crate) are_given: bool,
    /// How long a caller waits for one of them.
    pub(crate) timeout: Duration,
    #[cfg(feature = "mysql")]
    pub(crate) cache: ConnectionCache,
}

impl CallerPool {
    /// A guard for a caller that waits for a connection in order to keep it. If none is free, the cache returns its own.
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
