use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use claimstream_domain::{ClaimId, Claimed, Disposition, MessageId, Settled};

/// What happened to the messages of a stage, and the laws it must obey.
#[derive(Default)]
pub struct History {
    sent: BTreeSet<MessageId>,
    events: Mutex<Vec<Event>>,
}

enum Event {
    Claimed { message: MessageId, claim: ClaimId, attempt: u32 },
    Settled { message: MessageId, claim: ClaimId, disposition: Disposition, answer: Settled },
}

/// What a history comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Claims of messages.
    pub claims: usize,
    /// Accepted settlements that finished a message.
    pub done: usize,
    /// Accepted settlements that put a message off.
    pub retried: usize,
    /// Accepted settlements that buried a message.
    pub dead: usize,
}

impl History {
    /// The history of these messages, before anything has happened.
    pub fn of(sent: impl IntoIterator<Item = MessageId>) -> Self {
        Self { sent: sent.into_iter().collect(), events: Mutex::default() }
    }

    /// Notes a claim.
    pub fn claimed(&self, claimed: &[Claimed]) {
        self.events().extend(claimed.iter().map(|claimed| Event::Claimed {
            message: claimed.message.id,
            claim: claimed.receipt.claim,
            attempt: claimed.attempt,
        }));
    }

    /// Notes the answer to a settlement.
    pub fn settled(&self, claimed: &Claimed, disposition: Disposition, answer: Settled) {
        let (message, claim) = (claimed.message.id, claimed.receipt.claim);
        self.events().push(Event::Settled { message, claim, disposition, answer });
    }

    /// Fails if a law was broken: nothing is claimed that was not sent; no claim takes a message twice; the attempts of
    /// a message are all different; a claim is settled once; nothing is claimed after it was finished or buried.
    ///
    /// Witnesses of parallel calls write down what they saw in any order, so nothing is judged by the order of the notes.
    pub fn check(&self) -> Totals {
        let events = self.events();
        let attempts = self.attempts(&events);
        let mut totals = Totals { claims: attempts.len(), ..Totals::default() };
        let mut accepted = BTreeSet::new();
        let mut ends = BTreeMap::new();
        for event in events.iter() {
            let Event::Settled { message, claim, disposition, answer: Settled::Accepted } = event else {
                continue;
            };
            let attempt = attempts.get(&(*message, *claim));
            let attempt = attempt.unwrap_or_else(|| panic!("{message} was settled and not claimed"));
            assert!(accepted.insert((message, claim)), "{claim} settled {message} twice");
            totals.count(disposition);
            if matches!(disposition, Disposition::Done { .. } | Disposition::Dead { .. }) {
                assert!(ends.insert(message, attempt).is_none(), "{message} ended twice");
            }
        }
        for ((message, claim), attempt) in &attempts {
            let late = ends.get(message).is_some_and(|end| attempt > end);
            assert!(!late, "{claim} took {message} after its end");
        }
        totals
    }

    /// The attempt as which each claim took each message.
    fn attempts(&self, events: &[Event]) -> BTreeMap<(MessageId, ClaimId), u32> {
        let mut attempts = BTreeMap::new();
        let mut taken = BTreeSet::new();
        for event in events {
            let Event::Claimed { message, claim, attempt } = event else { continue };
            assert!(self.sent.contains(message), "{message} was claimed and never sent");
            assert!(taken.insert((message, attempt)), "{message} was claimed twice as attempt {attempt}");
            let first = attempts.insert((*message, *claim), *attempt).is_none();
            assert!(first, "{claim} took {message} twice");
        }
        attempts
    }

    fn events(&self) -> std::sync::MutexGuard<'_, Vec<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Totals {
    fn count(&mut self, disposition: &Disposition) {
        match disposition {
            Disposition::Done { .. } => self.done += 1,
            Disposition::Retry { .. } => self.retried += 1,
            Disposition::Dead { .. } => self.dead += 1,
            Disposition::Returned => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::{InstanceId, Locator, Message, Payload, QueueName, Receipt, Shard};
    use uuid::Uuid;

    use super::*;

    fn id(n: u128) -> MessageId {
        MessageId::new(Uuid::from_u128(n))
    }

    fn claimed(message: u128, sequence: u64, attempt: u32) -> Claimed {
        let (queue, shard) = (QueueName::new("q").expect("a name"), Shard::from_number(3));
        let claim = ClaimId::new(InstanceId(5), sequence);
        let receipt =
            Receipt { message: id(message), queue: queue.clone(), shard, claim, locator: Locator(9) };
        let payload = Payload::json("{}");
        let message = Message {
            id: id(message),
            queue,
            shard,
            ordering_key: None,
            headers: Default::default(),
            payload,
        };
        Claimed { message, receipt, attempt, last_error: None }
    }

    fn done() -> Disposition {
        Disposition::Done { emit: vec![] }
    }

    #[test]
    fn counts_what_happened() {
        let history = History::of([id(1)]);
        let (first, second) = (claimed(1, 1, 1), claimed(1, 2, 2));
        history.claimed(&[first.clone(), second.clone()]);
        history.settled(&first, done(), Settled::Superseded);
        history.settled(&second, done(), Settled::Accepted);
        assert_eq!(history.check(), Totals { claims: 2, done: 1, ..Totals::default() });
    }

    #[test]
    #[should_panic(expected = "never sent")]
    fn finds_a_message_from_nowhere() {
        let history = History::of([id(1)]);
        history.claimed(&[claimed(2, 1, 1)]);
        history.check();
    }

    #[test]
    #[should_panic(expected = "claimed twice as attempt 1")]
    fn finds_a_message_that_two_claims_hold() {
        let history = History::of([id(1)]);
        history.claimed(&[claimed(1, 1, 1), claimed(1, 2, 1)]);
        history.check();
    }

    #[test]
    #[should_panic(expected = "after its end")]
    fn finds_a_message_that_is_claimed_after_its_end() {
        let history = History::of([id(1)]);
        let (first, second) = (claimed(1, 1, 1), claimed(1, 2, 2));
        history.settled(&first, done(), Settled::Accepted);
        history.claimed(&[second, first]);
        history.check();
    }

    #[test]
    #[should_panic(expected = "ended twice")]
    fn finds_a_message_that_ends_twice() {
        let history = History::of([id(1)]);
        let (first, second) = (claimed(1, 1, 1), claimed(1, 2, 2));
        history.claimed(&[first.clone(), second.clone()]);
        history.settled(&first, done(), Settled::Accepted);
        history.settled(&second, done(), Settled::Accepted);
        history.check();
    }
}
