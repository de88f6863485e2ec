//! The facade: opens an outbox, chooses its strategy once, and implements the ports.

pub(crate) mod audit;
pub(crate) mod capabilities;
mod claims;
pub(crate) mod dead_letters;
pub(crate) mod doctor;
pub(crate) mod enqueue;
mod extra_statement;
pub(crate) mod from_pool;
pub(crate) mod gone_tables;
pub(crate) mod handle;
mod instances;
#[cfg(feature = "mysql")]
pub(crate) mod login;
#[cfg(feature = "notifications")]
mod notifications;
pub(crate) mod observe;
pub(crate) mod opening;
pub(crate) mod options;
pub(crate) mod pauses;
mod resharding;
mod routine_grants;
pub(crate) mod schema;
pub(crate) mod schema_extra;
pub(crate) mod schema_plan;
pub(crate) mod schema_step;
#[cfg(any(feature = "mysql", feature = "sqlite"))]
pub(crate) mod sqlx;
pub(crate) mod state;
#[cfg(feature = "steps")]
mod steps;
pub(crate) mod sweep;
pub(crate) mod transactions;
