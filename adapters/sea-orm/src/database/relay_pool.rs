use sea_orm::DatabaseConnection;

#[cfg(feature = "mysql")]
use super::connection_cache::ConnectionCache;

/// The connections for claims, renewals, settlements, locks and sweeps.
pub(crate) struct RelayPool {
    pub(crate) connections: DatabaseConnection,
    #[cfg(feature = "mysql")]
    pub(crate) cache: ConnectionCache,
}
