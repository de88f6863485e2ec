use super::brief::Brief;
#[cfg(feature = "mysql")]
use super::connection_cache::ConnectionCache;

/// The connections for claims, renewals, settlements, locks and sweeps.
pub(crate) struct RelayPool {
    pub(crate) connections: Brief,
    #[cfg(feature = "mysql")]
    pub(crate) cache: ConnectionCache,
}
