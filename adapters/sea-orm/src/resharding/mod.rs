//! More shards for queues that are at work: messages find their new shards by triggers, those that wait are moved, and new shards
//! open when they are in order.

pub(crate) mod cut;
mod emptying;
pub(crate) mod mending;
mod moving;
pub(crate) mod run;
pub(crate) mod shards;
pub(crate) mod status;

/// The operation that errors of a resharding name.
pub(crate) const RESHARD: &str = "reshard";
