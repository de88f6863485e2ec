use std::collections::HashMap;

use claimstream_domain::{ClaimRequest, Disposition, MessageId, OrderingKey, Settlement};
use tokio::sync::OwnedMutexGuard;

use crate::{
    messages::by_id::Ids,
    strategy::{
        order::Order,
        shard_lease::{in_flight::InFlight, shard_key::ShardKey, shard_state::ShardState},
        shared::{group::written_alike, known_shards::KnownShards},
    },
};

/// The settlements that one transaction writes in one shard.
pub(crate) struct ShardEnds<'a> {
    pub(crate) key: ShardKey,
    pub(crate) state: OwnedMutexGuard<ShardState>,
    pub(crate) settlements: Vec<&'a Settlement>,
    pub(crate) ended: Ids,
}

/// The operation that errors of settlements name.
pub(crate) const SETTLE: &str = "settle";

/// What one statement ends: the disposition, the attempts that all had if that matters, and where they lie.
pub(crate) type Alike<'a> = (&'a Disposition, Option<u32>, Vec<(i64, MessageId)>);

impl<'a> ShardEnds<'a> {
    pub(crate) fn of(
        key: ShardKey,
        state: OwnedMutexGuard<ShardState>,
        settlements: Vec<&'a Settlement>,
    ) -> Self {
        let ended = Ids::with_capacity_and_hasher(settlements.len(), Default::default());
        Self { key, state, settlements, ended }
    }

    /// Notes the messages that are about to end; false if one of the receipts is not the newest of its message, or comes twice, or
    /// if a message before it in its run may come again.
    pub(crate) fn note_ended(&mut self) -> bool {
        let Self { state, settlements, ended, .. } = self;
        settlements.iter().all(|Settlement { receipt, disposition }| {
            let is_revoked = state.in_flight.get(&receipt.message).is_some_and(|entry| entry.is_revoked);
            let may_end = !is_revoked || *disposition == Disposition::Returned;
            may_end && state.is_current(receipt) && ended.insert(receipt.message)
        })
    }

    /// A message that is in flight before one of its run that is about to end, and does not end with it so that it does not come
    /// again. Accepted ends of a key are in order and without a gap, whatever became of the call that ends the one before.
    pub(crate) fn in_the_way(&self) -> Option<MessageId> {
        let in_flight = &self.state.in_flight;
        let mut newest: HashMap<&OrderingKey, (i64, MessageId)> = HashMap::new();
        let stays = |end: &&&Settlement| end.disposition != Disposition::Returned;
        for Settlement { receipt, .. } in self.settlements.iter().filter(stays) {
            let entry = in_flight.get(&receipt.message).filter(|entry| entry.run_of.is_some());
            if let Some((key, due)) = entry.and_then(|entry| Some((entry.key.as_ref()?, entry.due))) {
                let place = newest.entry(key).or_insert((due, receipt.message));
                *place = (*place).max((due, receipt.message));
            }
        }
        if newest.is_empty() {
            return None;
        }
        let leaves = |end: &&&Settlement| end.disposition.is_final();
        let gone: Ids = self.settlements.iter().filter(leaves).map(|end| end.receipt.message).collect();
        let is_before = |id: &MessageId, entry: &InFlight| {
            let newest = entry.key.as_ref().and_then(|key| newest.get(key));
            newest.is_some_and(|newest| (entry.due, *id) < *newest)
        };
        let mut before = in_flight.iter().filter(|(id, entry)| is_before(id, entry));
        before.find(|(id, _)| !gone.contains(id)).map(|(id, _)| *id)
    }

    /// Takes the written ends out of the messages in flight. A message that was given back lies below the watermark.
    pub(crate) fn apply(mut self, known: &KnownShards) {
        if self.settlements.iter().any(|end| end.disposition == Disposition::Returned) {
            known.short(&self.key.queue, self.key.shard);
        }
        if self.settlements.iter().any(|end| !end.disposition.is_final()) {
            self.state.watermark = None;
        }
        self.end_runs();
        for message in &self.ended {
            self.state.in_flight.remove(message);
        }
    }

    /// Lets what is in flight behind messages that may come again only be given back; and nothing follow what is in flight before
    /// those that were given back. The stream may have lost it, and would give back all that it got from behind it, again and
    /// again, as long as its claim lasts.
    fn end_runs(&mut self) {
        let stay = self.settlements.iter().filter(|end| !end.disposition.is_final());
        for Settlement { receipt, disposition } in stay {
            let Some(entry) = self.state.in_flight.get(&receipt.message) else { continue };
            let (Some(key), place) = (entry.key.clone(), (entry.due, receipt.message)) else { continue };
            if entry.run_of.is_some() {
                let others =
                    self.state.in_flight.iter_mut().filter(|(_, other)| other.key.as_ref() == Some(&key));
                let is_given_back = *disposition == Disposition::Returned;
                for (id, other) in others {
                    other.is_revoked |= (other.due, *id) > place;
                    other.is_last |= is_given_back && (other.due, *id) < place;
                }
            }
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
            let is_put_off = matches!(disposition, Disposition::Retry { .. } | Disposition::Postponed { .. });
            let is_parked = order.blocks() && is_put_off;
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
