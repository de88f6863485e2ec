//! More shards for queues that are at work: messages find their new shards by triggers, those that wait are moved, and new shards
//! open when they are in order.

mod closing;
pub(crate) mod cut;
mod emptying;
pub(crate) mod mending;
mod moving;
mod order;
mod page;
#[cfg(feature = "mysql")]
mod prepared;
mod rights;
pub(crate) mod run;
pub(crate) mod shards;
pub(crate) mod status;
#[cfg(feature = "mysql")]
mod triggers;
mod turns;

/// The operation that errors of a resharding name.
pub(crate) const RESHARD: &str = "reshard";
