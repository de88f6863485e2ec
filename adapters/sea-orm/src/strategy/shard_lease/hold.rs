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
/// to be claimed. Whoever writes the lease row holds the lock of its `Hold` from the first look to the answer, and has the
/// connection already when it takes that lock (`line.rs`).
#[derive(Default)]
pub(crate) struct Hold {
    pub(crate) footing: Footing,
    /// The newest fence we know; what is in flight is so under this one.
    pub(crate) fence: i64,
    pub(crate) flights: HashMap<MessageId, Flight>,
    /// Who claims here, for people.
    pub(crate) label: String,
    /// When the lease row was written last, whatever came of it, on the monotonic clock.
    pub(crate) written: Option<Duration>,
    /// Whether this lease was lost, for those who wait under it.
    pub(crate) lost: Arc<AtomicBool>,
}

/// Where we stand with a shard's lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Footing {
    /// Nothing is known: the next look tells.
    #[default]
    Lost,
    /// Nobody has ever held it: it has no row yet.
    Unmade,
    /// It is ours or free under the fence we know, as far as we know; every write proves it.
    Known,
    /// Somebody else's has run out under the fence we know.
    Over,
}

/// What a look without locks has found of a shard's lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) footing: Footing,
    pub(crate) fence: i64,
    /// When the look began, on the monotonic clock.
    pub(crate) looked: Duration,
}

/// A message that was handed out and is not settled yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Flight {
    pub(crate) claim: ClaimId,
    pub(crate) due: i64,
    /// The attempts that its row counts, without this one.
    pub(crate) attempts: u32,
    pub(crate) deadline: i64,
    pub(crate) key: Option<OrderingKey>,
    /// An earlier attempt was cut off: nothing else of the shard is handed out beside it.
    pub(crate) alone: bool,
}

/// What has come into the books, and what stood there before.
pub(crate) type Boarded = Vec<(MessageId, Option<Flight>)>;

impl Hold {
    /// The bytes of a flight in the lease row.
    const FLIGHT: usize = 24;

    /// Forgets everything: the lease is somebody else's, or nobody knows whose.
    pub(crate) fn lose(&mut self) {
        self.footing = Footing::Lost;
        self.forget_flights();
    }

    /// Undoes it.
    pub(crate) fn unboard(&mut self, boarded: Boarded) {
        for (id, before) in boarded {
            match before {
                Some(before) => self.flights.insert(id, before),
                None => self.flights.remove(&id),
            };
        }
    }

    fn forget_flights(&mut self) {
        self.flights.clear();
        std::mem::take(&mut self.lost).store(true, Ordering::Relaxed);
    }

    /// Notes what a look has found, unless it may have been overtaken by a write of ours. Where we stand already, only a
    /// newer fence counts: somebody else has been here since.
    pub(crate) fn found(&mut self, seen: Seen) {
        let Seen { footing, fence, looked } = seen;
        let is_overtaken = self.written.is_some_and(|written| written > looked);
        if is_overtaken || (self.footing != Footing::Lost && fence <= self.fence) {
            return;
        }
        if fence != self.fence {
            self.forget_flights();
        }
        (self.footing, self.fence) = (footing, fence);
    }

    /// Takes note of the fence that was read at `now`, together with messages, while the shard was free or ours; false if
    /// what is in flight is so under another one.
    ///
    /// An older one may come from a server that lags behind, and proves nothing. But a failover that has lost our last
    /// writes leaves it for good, and once all that was in flight has lapsed nothing is lost by going on from there.
    pub(crate) fn agrees(&mut self, fence: i64, now: i64) -> bool {
        let went_back = fence < self.fence && self.flights.values().all(|flight| flight.deadline <= now);
        if went_back && !self.flights.is_empty() {
            tracing::warn!(
                known = self.fence,
                fence,
                "the fence of a shard's lease has gone back: the store has lost writes"
            );
        }
        if went_back || self.flights.is_empty() {
            self.fence = fence;
        }
        self.fence == fence
    }

    /// Whether a message is in flight and its claim has not run out.
    pub(crate) fn has_aloft(&self, message: MessageId, now: i64) -> bool {
        self.flights.get(&message).is_some_and(|flight| flight.deadline > now)
    }

    /// When the lease may end: when the last claim of it does, but for those that have ended.
    pub(crate) fn until(&self, ended: &HashSet<MessageId>) -> i64 {
        self.left(ended).map(|(_, flight)| flight.deadline).max().unwrap_or_default()
    }

    /// What is in flight, but for what has ended, as the lease row keeps it.
    pub(crate) fn to_bytes(&self, ended: &HashSet<MessageId>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.flights.len() * Self::FLIGHT);
        for (id, flight) in self.left(ended) {
            bytes.extend(flight.due.to_be_bytes());
            bytes.extend(id.uuid().as_bytes());
        }
        bytes
    }

    fn left(&self, ended: &HashSet<MessageId>) -> impl Iterator<Item = (&MessageId, &Flight)> {
        self.flights.iter().filter(|(id, _)| !ended.contains(id))
    }

    /// Due times and ids, as a lease row keeps them; what is cut short is left out.
    pub(crate) fn read_bytes(bytes: &[u8]) -> Vec<(i64, MessageId)> {
        let (flights, _) = bytes.as_chunks::<{ Self::FLIGHT }>();
        flights
            .iter()
            .filter_map(|flight| {
                let due = i64::from_be_bytes(flight[..8].try_into().ok()?);
                Some((due, MessageId::new(uuid::Uuid::from_slice(&flight[8..]).ok()?)))
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
        let mut hold = Hold { footing: Footing::Known, fence: 5, ..Hold::default() };
        let flight = Flight {
            claim: ClaimId::new(InstanceId(1), 1),
            due: 1,
            attempts: 0,
            deadline: 1,
            key: None,
            alone: false,
        };
        hold.flights.insert(MessageId::new(Uuid::from_u128(1)), flight);
        let at = Duration::from_secs;
        let over = |fence, looked| Seen { footing: Footing::Over, fence, looked };
        hold.found(over(5, at(1)));
        assert_eq!((hold.footing, hold.flights.len()), (Footing::Known, 1), "it is our own");
        assert!(hold.agrees(5, 0));
        assert!(!hold.agrees(6, 0), "what is in flight is so under another fence");
        hold.written = Some(at(2));
        hold.found(over(6, at(1)));
        assert_eq!(hold.flights.len(), 1, "the look is older than what we have written");
        let lost = Arc::clone(&hold.lost);
        hold.found(over(6, at(2)));
        assert!(lost.load(Ordering::Relaxed) && !hold.lost.load(Ordering::Relaxed));
        assert_eq!((hold.footing, hold.fence, hold.flights.len()), (Footing::Over, 6, 0));
        assert!(hold.agrees(7, 0), "nothing is in flight");
        assert_eq!(hold.fence, 7);
    }

    #[test]
    fn a_fence_that_went_back_counts_once_all_that_was_in_flight_has_lapsed() {
        let mut hold = Hold { footing: Footing::Known, fence: 5, ..Hold::default() };
        for (n, deadline) in [(1, 10), (2, 20)] {
            let claim = ClaimId::new(InstanceId(1), 1);
            let flight = Flight { claim, due: 1, attempts: 0, deadline, key: None, alone: false };
            hold.flights.insert(MessageId::new(Uuid::from_u128(n)), flight);
        }
        assert!(!hold.agrees(4, 19));
        assert!(!hold.agrees(6, 20), "a newer one is somebody else's");
        assert!(hold.agrees(4, 20));
        assert_eq!((hold.fence, hold.flights.len()), (4, 2), "they are still known to have lapsed");
    }

    #[test]
    fn flights_come_back_as_they_were_written() {
        let mut hold = Hold::default();
        for n in 1..=3_i64 {
            let id = MessageId::new(Uuid::from_u128(n as u128));
            let claim = ClaimId::new(InstanceId(1), 1);
            hold.flights
                .insert(id, Flight { claim, due: n * 7, attempts: 0, deadline: n, key: None, alone: false });
        }
        let none = HashSet::new();
        let mut read = Hold::read_bytes(&hold.to_bytes(&none));
        read.sort();
        let expected: Vec<_> = (1..=3).map(|n| (n * 7, MessageId::new(Uuid::from_u128(n as u128)))).collect();
        assert_eq!(read, expected);
        assert_eq!(hold.until(&none), 3);
        let ended = HashSet::from([MessageId::new(Uuid::from_u128(3))]);
        assert_eq!((hold.until(&ended), hold.to_bytes(&ended).len()), (2, 2 * Hold::FLIGHT));
        assert_eq!(Hold::read_bytes(&[1; 30]).len(), 1);
    }
}
