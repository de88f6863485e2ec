use std::collections::HashSet;

use claimstream_domain::{ClaimRequest, Disposition, MessageId, Settlement};
use tokio::sync::OwnedMutexGuard;

use crate::{
    claim::known_shards::KnownShards,
    settle::alike::written_alike,
    strategy::{
        order::Order,
        shard_lease::{shard_key::ShardKey, shard_state::ShardState},
    },
};

/// The settlements that one transaction writes in one shard.
pub(crate) struct ShardEnds<'a> {
    pub(crate) key: ShardKey,
    pub(crate) state: OwnedMutexGuard<ShardState>,
    pub(crate) settlements: Vec<&'a Settlement>,
    pub(crate) ended: HashSet<MessageId>,
}

/// What one statement ends: the disposition, the attempts that all had if that matters, and where they lie.
pub(crate) type Alike<'a> = (&'a Disposition, Option<u32>, Vec<(i64, MessageId)>);

impl<'a> ShardEnds<'a> {
    pub(crate) fn of(
        key: ShardKey,
        state: OwnedMutexGuard<ShardState>,
        settlements: Vec<&'a Settlement>,
    ) -> Self {
        Self { key, state, settlements, ended: HashSet::new() }
    }

    /// Notes the messages that are about to end; false if one of the receipts is not the newest of its message, or comes twice.
    pub(crate) fn note_ended(&mut self) -> bool {
        let Self { state, settlements, ended, .. } = self;
        settlements.iter().all(|end| state.is_current(&end.receipt) && ended.insert(end.receipt.message))
    }

    /// Takes the written ends out of the messages in flight. A message that was given back lies below the watermark.
    pub(crate) fn apply(mut self, known: &KnownShards) {
        if self.settlements.iter().any(|end| end.disposition == Disposition::Returned) {
            known.short(&self.key.queue, self.key.shard);
        }
        for message in &self.ended {
            self.state.in_flight.remove(message);
        }
    }

    /// Messages that one statement can end, by disposition; where an order keeps a failed message in its place, also by the
    /// attempts that they had when they were claimed.
    pub(crate) fn alike(&self, order: Order) -> Vec<Alike<'a>> {
        let mut groups: Vec<Alike<'a>> = Vec::new();
        for Settlement { receipt, disposition } in &self.settlements {
            let message = (receipt.locator.0, receipt.message);
            let most = ClaimRequest::MOST as usize;
            let has_room = |messages: &[_]| messages.len() < most;
            let is_parked = order.blocks() && matches!(disposition, Disposition::Retry { .. });
            let entry = self.state.in_flight.get(&receipt.message).filter(|_| is_parked);
            let attempts = entry.map(|entry| entry.attempts);
            let is_alike = |known, counted| written_alike(known, disposition) && counted == attempts;
            match groups.iter_mut().find(|(known, counted, all)| has_room(all) && is_alike(known, *counted)) {
                Some((_, _, messages)) => messages.push(message),
                None => groups.push((disposition, attempts, vec![message])),
            }
        }
        groups
    }
}
