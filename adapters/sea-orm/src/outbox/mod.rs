pub(crate) mod given_pool;
pub(crate) mod handle;
pub(crate) mod schema;
