//! More shards for queues that are at work: messages find their new shards by triggers, those that wait are moved, and new shards
//! open when they are in order.

use crate::{
    database::{Database, args::Args},
    strategy::shard_lease::shard_key::ShardKey,
};

mod closing;
pub(crate) mod cut;
mod emptying;
#[cfg(feature = "mysql")]
mod group;
pub(crate) mod mending;
mod moving;
mod order;
mod page;
pub(crate) mod plan;
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

/// The arguments that name a shard of a queue.
fn of_shard(db: &Database, key: &ShardKey) -> Args {
    db.args().with("queue", key.queue.as_str()).with("shard", key.shard.number())
}
