//! The facade: opens an outbox, chooses its strategy once, and wires the rooms to the ports.

pub(crate) mod attempts;
pub(crate) mod audit;
mod claims;
pub(crate) mod dead_letters;
pub(crate) mod doctor;
pub(crate) mod enqueue;
mod extra_statement;
pub(crate) mod from_pool;
pub(crate) mod gone_tables;
pub(crate) mod handle;
pub(crate) mod in_app;
mod instances;
pub(crate) mod locks;
#[cfg(feature = "mysql")]
pub(crate) mod login;
pub(crate) mod notifications;
pub(crate) mod observe;
pub(crate) mod opening;
pub(crate) mod options;
pub(crate) mod pauses;
pub(crate) mod people;
pub(crate) mod preferences;
pub(crate) mod receipts;
mod resharding;
pub(crate) mod rooms;
mod routine_grants;
pub(crate) mod runs;
pub(crate) mod sagas;
pub(crate) mod schema;
pub(crate) mod schema_extra;
pub(crate) mod schema_plan;
pub(crate) mod schema_step;
#[cfg(any(feature = "mysql", feature = "sqlite"))]
pub(crate) mod sqlx;
pub(crate) mod steps;
pub(crate) mod sweep;
pub(crate) mod templates;
pub(crate) mod transactions;
