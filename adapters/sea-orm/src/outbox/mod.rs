pub(crate) mod from_pool;
pub(crate) mod handle;
pub(crate) mod schema;
#[cfg(any(feature = "mysql", feature = "sqlite"))]
pub(crate) mod sqlx;
pub(crate) mod transactions;
