use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{MessageId, Receipt};

use crate::{
    messages::by_id::{ById, Ids},
    strategy::shard_lease::{flow::Flow, in_flight::InFlight, in_flight_list, watermark::Watermark},
};

/// What this outbox knows of one shard of one queue: the fence it acts under, and what it has in flight there.
///
/// The lease row says which instance may act. This state says what that instance has handed out, so that a message needs no
/// write of its own to be claimed. A call that writes the lease row keeps this state locked from its first look to the answer,
/// and has its connection already when it locks it (`turn.rs`).
#[derive(Default)]
pub(crate) struct ShardState {
    pub(crate) status: LeaseStatus,
    /// The newest fence that is known; the messages in flight are so under it.
    pub(crate) fence: i64,
    pub(crate) in_flight: ById<InFlight>,
    /// The name of the relay that claims here, for people.
    pub(crate) label: String,
    /// When the lease row was written last, whether or not that succeeded, on the monotonic clock.
    pub(crate) written: Option<Duration>,
    /// Whether this instance keeps up with what flows through the shard; it outlives a lease.
    pub(crate) flow: Flow,
    /// Whether this lease was lost, for the messages that were read ahead under it.
    pub(crate) lost: Arc<AtomicBool>,
    /// Whether messages waited among those that the newest claim has read.
    pub(crate) some_wait: bool,
    /// Where the next claim begins to read, if keys are in order.
    pub(crate) watermark: Option<Watermark>,
}

/// What this outbox knows of a shard's lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LeaseStatus {
    /// Nothing is known until the next look.
    #[default]
    Unknown,
    /// The shard was never leased: it has no row yet.
    Missing,
    /// It is ours or free under the fence we know, as far as we know; every write proves it.
    Usable,
    /// Another instance's lease has expired under the fence we know.
    Expired,
}

/// What a look without locks has found of a shard's lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) status: LeaseStatus,
    pub(crate) fence: i64,
    /// When the look began, on the monotonic clock.
    pub(crate) looked: Duration,
}

/// Messages that were noted as in flight, each with its entry from before.
pub(crate) type Noted = Vec<(MessageId, Option<InFlight>)>;

impl ShardState {
    /// Forgets everything: the lease is another instance's, or its holder is not known.
    pub(crate) fn lose(&mut self) {
        self.status = LeaseStatus::Unknown;
        self.forget_in_flight();
    }

    /// Puts messages in flight, and answers with their entries from before.
    pub(crate) fn note(&mut self, messages: impl Iterator<Item = (MessageId, InFlight)>) -> Noted {
        messages.map(|(id, entry)| (id, self.in_flight.insert(id, entry))).collect()
    }

    /// Undoes a [`note`](Self::note).
    pub(crate) fn undo(&mut self, noted: Noted) {
        for (id, before) in noted {
            match before {
                Some(before) => self.in_flight.insert(id, before),
                None => self.in_flight.remove(&id),
            };
        }
    }

    /// Whether a receipt is of the newest claim of its message.
    pub(crate) fn is_current(&self, receipt: &Receipt) -> bool {
        let entry = self.in_flight.get(&receipt.message);
        entry.is_some_and(|entry| entry.claim == receipt.claim && entry.due == receipt.locator.0)
    }

    /// Forgets a lost claim; the lease row follows with the next write.
    pub(crate) fn forget(&mut self, receipt: &Receipt) {
        if self.is_current(receipt) {
            self.watermark = None;
            self.in_flight.remove(&receipt.message);
        }
    }

    fn forget_in_flight(&mut self) {
        self.in_flight.clear();
        self.watermark = None;
        std::mem::take(&mut self.lost).store(true, Ordering::Relaxed);
    }

    /// Notes what a look has found, unless a write of ours may have overtaken it. While the status is known only a newer fence
    /// counts: another instance has had the shard since.
    pub(crate) fn note_seen(&mut self, seen: Seen) {
        let Seen { status, fence, looked } = seen;
        let is_overtaken = self.written.is_some_and(|written| written > looked);
        if is_overtaken || (self.status != LeaseStatus::Unknown && fence <= self.fence) {
            return;
        }
        if fence != self.fence {
            self.forget_in_flight();
        }
        (self.status, self.fence) = (status, fence);
    }

    /// Notes the fence that was read at `now`, together with messages, while the shard was free or ours; false if
    /// the messages in flight are so under another one.
    ///
    /// An older one may come from a server that lags behind, and proves nothing. But a failover that has lost our last
    /// writes leaves it for good, and once all that was in flight has expired nothing is lost by continuing from there.
    pub(crate) fn agrees(&mut self, fence: i64, now: i64) -> bool {
        let went_back = fence < self.fence && self.in_flight.values().all(|entry| entry.has_expired(now));
        if went_back && !self.in_flight.is_empty() {
            tracing::warn!(
                known = self.fence,
                fence,
                "the fence of a shard's lease has gone back: the store has lost writes"
            );
        }
        if (went_back || self.in_flight.is_empty()) && self.fence != fence {
            (self.fence, self.watermark) = (fence, None);
        }
        self.fence == fence
    }

    /// Whether a message is in flight and its claim has not expired.
    pub(crate) fn has_unexpired(&self, message: MessageId, now: i64) -> bool {
        self.in_flight.get(&message).is_some_and(|entry| !entry.has_expired(now))
    }

    /// When the lease may end: with the last of its claims, except those that have `ended`.
    pub(crate) fn until(&self, ended: &Ids) -> i64 {
        self.without(ended).map(|(_, entry)| entry.deadline).max().unwrap_or_default()
    }

    /// The messages in flight without those that have `ended`, as the lease row keeps them.
    pub(crate) fn to_bytes(&self, ended: &Ids) -> Vec<u8> {
        in_flight_list::encode(self.without(ended).map(|(id, entry)| (entry.due, *id)))
    }

    fn without(&self, ended: &Ids) -> impl Iterator<Item = (&MessageId, &InFlight)> {
        self.in_flight.iter().filter(|(id, _)| !ended.contains(id))
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::{ClaimId, InstanceId};
    use uuid::Uuid;

    use super::*;

    fn in_flight(n: u128, due: i64, deadline: i64) -> (MessageId, InFlight) {
        let claim = ClaimId::new(InstanceId(1), 1);
        let entry = InFlight {
            claim,
            due,
            attempts: 0,
            deadline,
            key: None,
            run_of: None,
            is_revoked: false,
            is_last: false,
            alone: false,
        };
        (MessageId::new(Uuid::from_u128(n)), entry)
    }

    fn usable(messages: impl IntoIterator<Item = (MessageId, InFlight)>) -> ShardState {
        let in_flight = messages.into_iter().collect();
        ShardState { status: LeaseStatus::Usable, fence: 5, in_flight, ..ShardState::default() }
    }

    /// Guard: a read that a write of this process has overtaken is ignored | `note_seen`: `is_overtaken` is
    /// never true
    #[test]
    fn a_newer_fence_shows_that_another_instance_has_had_the_shard() {
        let mut state = usable([in_flight(1, 1, 1)]);
        let at = Duration::from_secs;
        let expired = |fence, looked| Seen { status: LeaseStatus::Expired, fence, looked };
        state.note_seen(expired(5, at(1)));
        assert_eq!((state.status, state.in_flight.len()), (LeaseStatus::Usable, 1), "it is our own");
        assert!(state.agrees(5, 0));
        assert!(!state.agrees(6, 0), "what is in flight is so under another fence");
        state.written = Some(at(2));
        state.note_seen(expired(6, at(1)));
        assert_eq!(state.in_flight.len(), 1, "the look is older than what we have written");
        let lost = Arc::clone(&state.lost);
        state.note_seen(expired(6, at(2)));
        assert!(lost.load(Ordering::Relaxed) && !state.lost.load(Ordering::Relaxed));
        assert_eq!((state.status, state.fence, state.in_flight.len()), (LeaseStatus::Expired, 6, 0));
        assert!(state.agrees(7, 0), "nothing is in flight");
        assert_eq!(state.fence, 7);
    }

    #[test]
    fn a_fence_that_went_back_counts_once_all_that_was_in_flight_has_expired() {
        let mut state = usable([in_flight(1, 1, 10), in_flight(2, 1, 20)]);
        assert!(!state.agrees(4, 19));
        assert!(!state.agrees(6, 20), "a newer one is another instance's");
        assert!(state.agrees(4, 20));
        assert_eq!((state.fence, state.in_flight.len()), (4, 2), "they are still known to have expired");
    }

    #[test]
    fn what_has_ended_neither_lengthens_the_lease_nor_stands_in_its_list() {
        let state = usable((1..=3).map(|n| in_flight(n as u128, n * 7, n)));
        let none = Ids::default();
        let mut read = in_flight_list::decode(&state.to_bytes(&none));
        read.sort();
        let expected: Vec<_> = (1..=3).map(|n| (n * 7, in_flight(n as u128, 0, 0).0)).collect();
        assert_eq!((read, state.until(&none)), (expected, 3));
        let ended = Ids::from_iter([in_flight(3, 0, 0).0]);
        assert_eq!((in_flight_list::decode(&state.to_bytes(&ended)).len(), state.until(&ended)), (2, 2));
    }
}
