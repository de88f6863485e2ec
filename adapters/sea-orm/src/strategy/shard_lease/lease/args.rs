use std::sync::atomic::{AtomicI64, Ordering};

use claimstream_domain::MessageId;
use sea_orm::Value;

use crate::{
    database::{
        args::{Args, bytes},
        unit::maybe,
    },
    messages::by_id::Ids,
    strategy::shard_lease::{leases::ShardLease, shard_key::ShardKey, shard_state::ShardState},
};

/// The operation that errors of a lease row name.
pub(crate) const LEASE: &str = "shard lease";

/// The arguments of statements on a lease row.
impl ShardLease {
    /// The arguments that write `state` into its lease row, without the messages that have `ended`. If nothing is left in
    /// flight, the shard is free, or `kept` until a moment.
    pub(crate) fn state_args(
        &self,
        state: &ShardState,
        ended: &Ids,
        key: &ShardKey,
        new_fence: i64,
        kept: Option<i64>,
    ) -> Args {
        let left = state.in_flight.len() - ended.len();
        let is_held = left > 0 || kept.is_some();
        let new_holder = if is_held { self.holder.clone() } else { Value::Bytes(None) };
        self.write_args(key, state.fence, new_fence, left)
            .with("new_holder", new_holder)
            .with("label", maybe(is_held.then_some(state.label.as_str())))
            .with("until", if left > 0 { state.until(ended) } else { kept.unwrap_or_default() })
            .with("flights", state.to_bytes(ended))
    }

    /// The arguments of any write of a lease row by its holder.
    pub(crate) fn write_args(&self, key: &ShardKey, fence: i64, new_fence: i64, in_flight: usize) -> Args {
        self.fence_args(key, fence)
            .with("new_fence", new_fence)
            .with("in_flight", in_flight as i64)
            .with("token", next_token())
    }

    /// The shard, the fence, and this outbox as the holder.
    pub(crate) fn fence_args(&self, key: &ShardKey, fence: i64) -> Args {
        self.shard_args(key).with("fence", fence).with("holder", self.holder.clone())
    }

    pub(crate) fn shard_args(&self, key: &ShardKey) -> Args {
        self.db.args().with("queue", key.queue.as_str()).with("shard", key.shard.number())
    }
}

/// Adds the due times between which messages lie, and their ids.
pub(crate) fn span(args: Args, messages: impl Iterator<Item = (i64, MessageId)> + Clone) -> Args {
    let dues = messages.clone().map(|(due, _)| due);
    args.with("first", dues.clone().min().unwrap_or_default())
        .with("last", dues.max().unwrap_or_default())
        .with_list("ids", messages.map(|(_, id)| bytes(id.uuid())))
}

/// A number that no other write of a lease row by this process has used.
pub(crate) fn next_token() -> i64 {
    static NEWEST: AtomicI64 = AtomicI64::new(0);
    let fresh = (uuid::Uuid::now_v7().as_u64_pair().1 >> 2) as i64;
    let begun = NEWEST.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed);
    begun.map_or_else(|_| NEWEST.fetch_add(1, Ordering::Relaxed) + 1, |_| fresh)
}
