use claimstream_domain::{
    ClaimId, Claimed, DedupKey, Due, Event, IllegalTransition, Locator, Message, MessageKept,
    MessageStanding, MessageState, NewMessage, QueuedMessage, Reason, Receipt, RunPlace, ShardCount, State,
    Timestamp, is_due, waited,
};

use crate::clock::{after, between};

/// A message that waits or is leased.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(super) message: Message,
    pub(super) dedup_key: Option<DedupKey>,
    pub(super) available_at: Timestamp,
    pub(super) claimed_from: Timestamp,
    pub(super) claim: Option<ClaimId>,
    pub(super) attempts: u32,
    pub(super) last_error: Option<Reason>,
    pub(super) stored_at: Timestamp,
    /// When it was stored first, if it was revived since.
    pub(super) first_at: Option<Timestamp>,
}

impl Row {
    /// A message that is taken in now.
    pub(crate) fn new(new: &NewMessage, shards: ShardCount, now: Timestamp) -> Self {
        let available_at = match new.due {
            Due::Now => now,
            Due::After(delay) => after(now, delay),
            Due::At(moment) => moment,
        };
        let message = Message {
            id: new.id,
            queue: new.queue.clone(),
            shard: shards.shard_of(new.id, new.ordering_key.as_ref()),
            ordering_key: new.ordering_key.clone(),
            headers: new.headers.clone(),
            payload: new.payload.clone(),
        };
        Self {
            message,
            dedup_key: new.dedup_key.clone(),
            available_at,
            claimed_from: available_at,
            claim: None,
            attempts: 0,
            last_error: None,
            stored_at: now,
            first_at: None,
        }
    }

    /// The state of the row for a relay that may claim it: a lease that has run out is over.
    pub(super) fn claimable_state(&self, now: Timestamp) -> Result<State, IllegalTransition> {
        match self.claim {
            Some(_) if is_due(self.available_at, now) => State::Leased.next(Event::Expire),
            Some(_) => Ok(State::Leased),
            None => Ok(State::Ready),
        }
    }

    pub(super) fn claimed(&self, claim: ClaimId, now: Timestamp) -> Claimed {
        Claimed {
            message: self.message.clone(),
            receipt: self.receipt(claim),
            attempt: self.attempts,
            last_error: self.last_error.clone(),
            place: RunPlace::Alone,
            waited: waited(self.claimed_from.as_micros(), None, now.as_micros()),
        }
    }

    pub(super) fn receipt(&self, claim: ClaimId) -> Receipt {
        Receipt {
            message: self.message.id,
            queue: self.message.queue.clone(),
            shard: self.message.shard,
            claim,
            locator: Locator(self.available_at.as_micros()),
        }
    }

    pub(super) fn standing(&self, now: Timestamp) -> MessageStanding {
        let queued = QueuedMessage {
            available_in: self.available_at.as_micros().saturating_sub(now.as_micros()),
            parked_for: None,
            attempts: self.attempts,
            is_claimed: self.claim.is_some(),
            holder: None,
            flight_ends_in: None,
        };
        MessageStanding {
            id: self.message.id,
            queue: self.message.queue.clone(),
            attempts: self.attempts,
            last_error: self.last_error.clone(),
            state: MessageState::of_queued(queued),
        }
    }

    pub(super) fn kept(&self, now: Timestamp) -> MessageKept {
        let Message { id, queue, shard, ordering_key, headers, payload } = &self.message;
        MessageKept {
            id: *id,
            queue: queue.clone(),
            shard: *shard,
            ordering_key: ordering_key.clone(),
            content_type: payload.content_type().to_owned(),
            bytes: payload.bytes().len() as u64,
            stored: between(self.stored_at, now),
            first_stored: self.first_at.map(|at| between(at, now)),
            traceparent: headers.get("traceparent").map(str::to_owned),
        }
    }

    pub(super) fn put_off(&mut self, until: Timestamp, reason: Reason) {
        self.available_at = until;
        self.claim = None;
        self.last_error = Some(reason);
    }

    pub(super) fn give_back(&mut self) {
        self.available_at = self.claimed_from;
        self.claim = None;
        self.attempts -= 1;
    }
}
