use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{ClaimId, MessageId, OrderingKey};

/// What this outbox knows of one shard of one queue: the fence it acts under, and what it has in flight there.
///
/// The lease row says who may act. This says what the holder has handed out, so that a message needs no write of its own
/// to be claimed. Whoever writes the lease row holds the lock of its `ShardState` from the first look to the answer, and has the
/// connection already when it takes that lock (`owned_shards.rs`).
#[derive(Default)]
pub(crate) struct ShardState {
    pub(crate) status: LeaseStatus,
    /// The newest fence we know; what is in flight is so under this one.
    pub(crate) fence: i64,
    pub(crate) in_flight: HashMap<MessageId, InFlight>,
    /// Who claims here, for people.
    pub(crate) label: String,
    /// When the lease row was written last, whatever came of it, on the monotonic clock.
    pub(crate) written: Option<Duration>,
    /// Whether this lease was lost, for those who wait under it.
    pub(crate) lost: Arc<AtomicBool>,
}

/// Where we stand with a shard's lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LeaseStatus {
    /// Nothing is known: the next look tells.
    #[default]
    Unknown,
    /// Nobody has ever held it: it has no row yet.
    Missing,
    /// It is ours or free under the fence we know, as far as we know; every write proves it.
    Usable,
    /// Somebody else's has run out under the fence we know.
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

/// A message that was handed out and is not settled yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct InFlight {
    pub(crate) claim: ClaimId,
    pub(crate) due: i64,
    /// The attempts that its row counts, without this one.
    pub(crate) attempts: u32,
    pub(crate) deadline: i64,
    pub(crate) key: Option<OrderingKey>,
    /// An earlier attempt was cut off: nothing else of the shard is handed out beside it.
    pub(crate) alone: bool,
}

/// What was noted as in flight, and what stood there before.
pub(crate) type Noted = Vec<(MessageId, Option<InFlight>)>;

impl ShardState {
    /// The bytes of an entry in the lease row.
    const ENTRY: usize = 24;

    /// Forgets everything: the lease is somebody else's, or nobody knows whose.
    pub(crate) fn lose(&mut self) {
        self.status = LeaseStatus::Unknown;
        self.forget_in_flight();
    }

    /// Undoes it.
    pub(crate) fn undo(&mut self, noted: Noted) {
        for (id, before) in noted {
            match before {
                Some(before) => self.in_flight.insert(id, before),
                None => self.in_flight.remove(&id),
            };
        }
    }

    fn forget_in_flight(&mut self) {
        self.in_flight.clear();
        std::mem::take(&mut self.lost).store(true, Ordering::Relaxed);
    }

    /// Notes what a look has found, unless it may have been overtaken by a write of ours. Where we stand already, only a
    /// newer fence counts: somebody else has been here since.
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

    /// Takes note of the fence that was read at `now`, together with messages, while the shard was free or ours; false if
    /// what is in flight is so under another one.
    ///
    /// An older one may come from a server that lags behind, and proves nothing. But a failover that has lost our last
    /// writes leaves it for good, and once all that was in flight has lapsed nothing is lost by going on from there.
    pub(crate) fn agrees(&mut self, fence: i64, now: i64) -> bool {
        let went_back = fence < self.fence && self.in_flight.values().all(|entry| entry.deadline <= now);
        if went_back && !self.in_flight.is_empty() {
            tracing::warn!(
                known = self.fence,
                fence,
                "the fence of a shard's lease has gone back: the store has lost writes"
            );
        }
        if went_back || self.in_flight.is_empty() {
            self.fence = fence;
        }
        self.fence == fence
    }

    /// Whether a message is in flight and its claim has not run out.
    pub(crate) fn has_unexpired(&self, message: MessageId, now: i64) -> bool {
        self.in_flight.get(&message).is_some_and(|entry| entry.deadline > now)
    }

    /// When the lease may end: when the last claim of it does, but for those that have ended.
    pub(crate) fn until(&self, ended: &HashSet<MessageId>) -> i64 {
        self.left(ended).map(|(_, entry)| entry.deadline).max().unwrap_or_default()
    }

    /// What is in flight, but for what has ended, as the lease row keeps it.
    pub(crate) fn to_bytes(&self, ended: &HashSet<MessageId>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.in_flight.len() * Self::ENTRY);
        for (id, entry) in self.left(ended) {
            bytes.extend(entry.due.to_be_bytes());
            bytes.extend(id.uuid().as_bytes());
        }
        bytes
    }

    fn left(&self, ended: &HashSet<MessageId>) -> impl Iterator<Item = (&MessageId, &InFlight)> {
        self.in_flight.iter().filter(|(id, _)| !ended.contains(id))
    }

    /// Due times and ids, as a lease row keeps them; what is cut short is left out.
    pub(crate) fn read_bytes(bytes: &[u8]) -> Vec<(i64, MessageId)> {
        let (in_flight, _) = bytes.as_chunks::<{ Self::ENTRY }>();
        in_flight
            .iter()
            .filter_map(|entry| {
                let due = i64::from_be_bytes(entry[..8].try_into().ok()?);
                Some((due, MessageId::new(uuid::Uuid::from_slice(&entry[8..]).ok()?)))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::InstanceId;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_newer_fence_tells_that_somebody_else_has_been_here() {
        let mut state = ShardState { status: LeaseStatus::Usable, fence: 5, ..ShardState::default() };
        let entry = InFlight {
            claim: ClaimId::new(InstanceId(1), 1),
            due: 1,
            attempts: 0,
            deadline: 1,
            key: None,
            alone: false,
        };
        state.in_flight.insert(MessageId::new(Uuid::from_u128(1)), entry);
        let at = Duration::from_secs;
        let over = |fence, looked| Seen { status: LeaseStatus::Expired, fence, looked };
        state.note_seen(over(5, at(1)));
        assert_eq!((state.status, state.in_flight.len()), (LeaseStatus::Usable, 1), "it is our own");
        assert!(state.agrees(5, 0));
        assert!(!state.agrees(6, 0), "what is in flight is so under another fence");
        state.written = Some(at(2));
        state.note_seen(over(6, at(1)));
        assert_eq!(state.in_flight.len(), 1, "the look is older than what we have written");
        let lost = Arc::clone(&state.lost);
        state.note_seen(over(6, at(2)));
        assert!(lost.load(Ordering::Relaxed) && !state.lost.load(Ordering::Relaxed));
        assert_eq!((state.status, state.fence, state.in_flight.len()), (LeaseStatus::Expired, 6, 0));
        assert!(state.agrees(7, 0), "nothing is in flight");
        assert_eq!(state.fence, 7);
    }

    #[test]
    fn a_fence_that_went_back_counts_once_all_that_was_in_flight_has_lapsed() {
        let mut state = ShardState { status: LeaseStatus::Usable, fence: 5, ..ShardState::default() };
        for (n, deadline) in [(1, 10), (2, 20)] {
            let claim = ClaimId::new(InstanceId(1), 1);
            let entry = InFlight { claim, due: 1, attempts: 0, deadline, key: None, alone: false };
            state.in_flight.insert(MessageId::new(Uuid::from_u128(n)), entry);
        }
        assert!(!state.agrees(4, 19));
        assert!(!state.agrees(6, 20), "a newer one is somebody else's");
        assert!(state.agrees(4, 20));
        assert_eq!((state.fence, state.in_flight.len()), (4, 2), "they are still known to have lapsed");
    }

    #[test]
    fn flights_come_back_as_they_were_written() {
        let mut state = ShardState::default();
        for n in 1..=3_i64 {
            let id = MessageId::new(Uuid::from_u128(n as u128));
            let claim = ClaimId::new(InstanceId(1), 1);
            state.in_flight.insert(
                id,
                InFlight { claim, due: n * 7, attempts: 0, deadline: n, key: None, alone: false },
            );
        }
        let none = HashSet::new();
        let mut read = ShardState::read_bytes(&state.to_bytes(&none));
        read.sort();
        let expected: Vec<_> = (1..=3).map(|n| (n * 7, MessageId::new(Uuid::from_u128(n as u128)))).collect();
        assert_eq!(read, expected);
        assert_eq!(state.until(&none), 3);
        let ended = HashSet::from([MessageId::new(Uuid::from_u128(3))]);
        assert_eq!((state.until(&ended), state.to_bytes(&ended).len()), (2, 2 * ShardState::ENTRY));
        assert_eq!(ShardState::read_bytes(&[1; 30]).len(), 1);
    }
}
