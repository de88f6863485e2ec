use std::time::Duration;

use crate::{InstanceId, QueueName, Shard};

/// An instance that has claimed messages, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstanceListed {
    /// The instance.
    pub id: InstanceId,
    /// Its label.
    pub label: String,
    /// How long ago it noted itself, which it does when it first claims.
    pub seen: Duration,
}

/// The lease of a shard under `shard_lease`, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaseListed {
    /// The queue.
    pub queue: QueueName,
    /// The shard.
    pub shard: Shard,
    /// The label of the instance that holds it; `None` if none does.
    pub holder: Option<String>,
    /// The fence, which grows with every holder.
    pub fence: i64,
    /// How long until it ends; `None` if it has ended.
    pub ends_in: Option<Duration>,
    /// How many messages are in flight under it.
    pub in_flight: u32,
}
