use claimstream_domain::{ClaimId, Claimed, InstanceId, MessageId, QueueName, Receipt};

use super::{End, Journal};
use crate::said::Said;

/// What has become of messages.
impl Journal {
    /// The claim of a message that was made last.
    pub(crate) fn newest_claim(&self, id: MessageId) -> Option<ClaimId> {
        let state = self.state();
        state.messages.get(&id)?.lease.as_ref().map(|(claimed, _)| claimed.receipt.claim)
    }

    /// A message that is leased now.
    pub(crate) fn any_leased(&self) -> Option<Claimed> {
        let now = self.sim.store_now();
        let state = self.state();
        let leases = state.messages.values().filter_map(|entry| entry.lease.as_ref());
        leases.filter(|(_, until)| *until > now).map(|(claimed, _)| claimed.clone()).next()
    }

    /// How many claims of an instance were ended by settlements.
    pub(crate) fn accepted(&self, instance: InstanceId) -> u64 {
        self.state().accepted.iter().filter(|(_, claim)| claim.instance() == instance).count() as u64
    }

    /// Whether the store has kept the reason that a handler gave for the end of this claim.
    pub(crate) fn has_kept_its_reason(&self, receipt: &Receipt) -> bool {
        let (state, key) = (self.state(), (receipt.message, receipt.claim));
        let said = state.handled.get(&key).copied().flatten();
        state.with_reason.contains(&key) && matches!(said, Some(Said::Nack | Said::Bury))
    }

    /// Whether the store has accepted a settlement of this claim.
    pub(crate) fn has_accepted(&self, receipt: &Receipt) -> bool {
        self.state().accepted.contains(&(receipt.message, receipt.claim))
    }

    /// How many messages of a queue there have been.
    pub(crate) fn count(&self, queue: &QueueName) -> u64 {
        self.state().messages.values().filter(|entry| entry.queue == *queue).count() as u64
    }

    /// Whether a message was ever enqueued.
    pub(crate) fn knows(&self, id: MessageId) -> bool {
        self.state().messages.contains_key(&id)
    }

    /// How a message ended.
    pub(crate) fn end(&self, id: MessageId) -> Option<End> {
        self.state().messages.get(&id)?.end
    }

    /// How many messages of a queue have ended so.
    pub(crate) fn ended(&self, queue: &QueueName, end: End) -> u64 {
        let state = self.state();
        state.messages.values().filter(|entry| entry.queue == *queue && entry.end == Some(end)).count() as u64
    }

    /// Whether every message of a queue has ended.
    pub(crate) fn all_ended(&self, queue: &QueueName) -> bool {
        self.state().messages.values().all(|entry| entry.queue != *queue || entry.end.is_some())
    }

    /// How many attempts of a message are counted.
    pub(crate) fn attempts(&self, id: MessageId) -> u32 {
        self.state().messages.get(&id).map_or(0, |entry| entry.attempts)
    }
}
