pub(crate) mod args;
pub(crate) mod caller_pool;
pub(crate) mod classify;
pub(crate) mod clock;
pub(crate) mod coalescer;
pub(crate) mod connecting;
#[cfg(feature = "mysql")]
pub(crate) mod connection_cache;
pub(crate) mod dialect;
pub(crate) mod held;
pub(crate) mod link;
pub(crate) mod outage;
pub(crate) mod packet;
pub(crate) mod pool;
#[cfg(any(feature = "mysql", feature = "sqlite"))]
pub(crate) mod sqlx_connection;
pub(crate) mod transaction;
pub(crate) mod unit;
