use std::fmt;

use claimstream_domain::{QueueName, Receipt, Shard};

/// A shard of a queue.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ShardKey {
    pub(crate) queue: QueueName,
    pub(crate) shard: Shard,
}

impl ShardKey {
    /// The shard that a receipt's message lies in.
    pub(crate) fn of(receipt: &Receipt) -> Self {
        Self { queue: receipt.queue.clone(), shard: receipt.shard }
    }

    /// The shards of some receipts, each once, in the order in which every call takes its turns.
    pub(crate) fn all_of<'a>(receipts: impl Iterator<Item = &'a Receipt>) -> Vec<Self> {
        let mut keys: Vec<_> = receipts.map(Self::of).collect();
        keys.sort();
        keys.dedup();
        keys
    }
}

impl fmt::Display for ShardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {} of queue {}", self.shard.number(), self.queue)
    }
}
