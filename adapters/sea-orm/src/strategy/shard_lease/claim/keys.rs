use std::collections::{HashMap, HashSet};

use claimstream_domain::{InstanceId, MessageId, OrderingKey, RunPlace, StreamId};

use crate::{
    messages::by_id::ById,
    strategy::{
        order::Order,
        shard_lease::{claim::candidate::Candidate, in_flight::InFlight},
    },
};

/// What the messages in flight, and those that a claim has looked at, let out of each key.
///
/// A claim that asks for no runs gets the oldest message of a key, if no other of it is in flight. A claim of a stream gets
/// those behind it too, as long as all that is in flight of the key is in this stream's hands, and lies before them, and the
/// stream has given nothing back from behind it.
pub(crate) struct Keys<'a> {
    order: Order,
    stream: Option<(InstanceId, StreamId)>,
    in_flight: HashMap<&'a OrderingKey, Vec<Flight>>,
    /// The keys that let nothing more out.
    closed: HashSet<&'a OrderingKey>,
    /// The newest message of each key that this claim takes.
    newest: HashMap<&'a OrderingKey, MessageId>,
}

/// A message of a key that is in flight, and that this claim has not come to.
struct Flight {
    place: (i64, MessageId),
    /// Its claim has not expired.
    lasts: bool,
    is_ours: bool,
    /// Nothing follows it.
    is_last: bool,
}

impl<'a> Keys<'a> {
    pub(crate) fn of(
        messages: &'a ById<InFlight>,
        order: Order,
        stream: Option<(InstanceId, StreamId)>,
        now: i64,
    ) -> Self {
        let mut in_flight: HashMap<_, Vec<_>> = HashMap::new();
        for (id, entry) in messages.iter().filter(|_| order.is_per_key()) {
            let Some(key) = &entry.key else { continue };
            let is_ours = stream.is_some() && entry.taken_by() == stream;
            let (place, lasts, is_last) = ((entry.due, *id), !entry.has_expired(now), entry.is_last);
            let flight = Flight { place, lasts, is_ours, is_last };
            in_flight.entry(key).or_default().push(flight);
        }
        Self { order, stream, in_flight, closed: HashSet::new(), newest: HashMap::new() }
    }

    /// The place of a message in its key's run; none if it waits, or is in flight in the stream's own hands.
    pub(crate) fn place(&mut self, candidate: &'a Candidate) -> Option<RunPlace> {
        let Some(key) = candidate.key.as_ref().filter(|_| self.order.is_per_key()) else {
            return Some(RunPlace::Alone);
        };
        if self.closed.contains(key) {
            return None;
        }
        let of_key = self.in_flight.get_mut(key).map(Vec::as_mut_slice).unwrap_or_default();
        if self.stream.is_none() {
            self.closed.insert(key);
            return of_key.iter().all(|flight| flight.place.1 == candidate.id).then_some(RunPlace::Alone);
        }
        match Self::position(of_key, candidate) {
            Position::Waits => {
                self.closed.insert(key);
                None
            }
            Position::InHand => None,
            Position::Behind(before) => {
                let before = self.newest.get(key).copied().or(before);
                Some(before.map_or(RunPlace::Head, RunPlace::Behind))
            }
        }
    }

    /// Notes that a message is taken.
    pub(crate) fn take(&mut self, candidate: &'a Candidate) {
        let is_in_run = self.stream.is_some() && self.order.is_per_key();
        if let Some(key) = candidate.key.as_ref().filter(|_| is_in_run) {
            self.newest.insert(key, candidate.id);
            if let Some(of_key) = self.in_flight.get_mut(key) {
                of_key.retain(|flight| flight.place.1 != candidate.id);
            }
        }
    }

    /// Notes that a message which may have gone out does not: those behind it wait.
    pub(crate) fn pass_over(&mut self, candidate: &'a Candidate) {
        self.closed.extend(&candidate.key);
    }

    fn position(of_key: &[Flight], candidate: &Candidate) -> Position {
        let place = (candidate.due, candidate.id);
        if of_key.iter().all(|flight| !flight.lasts) {
            // What has expired goes out again, from its beginning on.
            let all_behind = of_key.iter().all(|flight| flight.place >= place);
            return if all_behind { Position::Behind(None) } else { Position::Waits };
        }
        let last = of_key.iter().map(|flight| flight.place).max();
        match of_key.iter().all(|flight| flight.lasts && flight.is_ours) {
            true if of_key.iter().any(|flight| flight.place.1 == candidate.id) => Position::InHand,
            true if last < Some(place) && of_key.iter().all(|flight| !flight.is_last) => {
                Position::Behind(last.map(|(_, id)| id))
            }
            _ => Position::Waits,
        }
    }
}

/// How a message stands to those of its key that are in flight.
enum Position {
    /// It waits for them.
    Waits,
    /// It is one of them.
    InHand,
    /// It may follow this one, or nothing.
    Behind(Option<MessageId>),
}
