use claimstream_domain::{QueueName, Resharding, Shard, ShardCount};

/// How many shards the queues of a database have, and how far a resharding is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardStatus {
    /// Into how many shards messages are written.
    pub count: ShardCount,
    /// From how many of them relays claim.
    pub open: u16,
    /// The resharding that was begun and not ended.
    pub resharding: Option<Resharding>,
    /// Whether messages are written by its count.
    pub is_cut: bool,
}

impl ShardStatus {
    /// Whether messages find their shards by triggers still, and nothing else is to be done.
    pub fn is_open(&self) -> bool {
        self.is_cut && self.open == self.count.get()
    }
}

/// What a resharding has done, or waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReshardStep {
    /// It begins, or continues where an earlier one was stopped.
    Begun(ShardStatus),
    /// It tries again to make the triggers: a transaction that has used the table of messages is open.
    WaitsForTransactions {
        /// How often it has tried.
        tries: u32,
    },
    /// From now on messages are written by the new count, whatever their writers know.
    Cut,
    /// A shard has messages in hand that belong into new shards; relays claim from it again, and it has its turn later.
    InHand {
        /// The queue.
        queue: QueueName,
        /// The old shard.
        shard: Shard,
        /// The relay that holds the lease of the shard, if one does.
        held_by: Option<String>,
    },
    /// A relay that is gone has left messages of a shard in hand, and another one of this queue has to run to take them over. It is said
    /// once for each shard of a queue.
    NeedsRelay {
        /// The queue.
        queue: QueueName,
        /// The old shard.
        shard: Shard,
        /// The relay that held the lease of the shard, if it has said its name.
        held_by: Option<String>,
    },
    /// Every message of an old shard is where it belongs, and relays claim from the new shards that have got keys from it.
    Opened {
        /// The old shard.
        shard: Shard,
        /// How many messages this call has moved out of it.
        moved: u64,
        /// How many shards are open now.
        open: u16,
    },
    /// All shards are open.
    Ended,
}
