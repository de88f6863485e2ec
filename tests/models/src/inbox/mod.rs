//! The inbox: consumers of an outbox that delivers at least once, and an effect that is to happen once.
//!
//! A message is delivered until it is acknowledged, also to several consumers at a time, because leases run out. A
//! consumer may die or stand still at any point, and its commit may succeed without its hearing of it. Two messages
//! carry the same id and not the same payload, which is a mistake of the sender.

mod fault;
mod step;

use std::sync::LazyLock;

use claimstream_domain::{
    Fingerprint,
    step::{NewStep, Repeat, Step as Record, StepKey, repeat},
};

use crate::{Promise, Protocol};
pub use fault::Fault;
pub use step::Step;

/// Some consumers of the messages of [`DELIVERIES`].
#[derive(Clone, Copy, Debug)]
pub struct Inbox {
    /// What is wrong with it; nothing in ours.
    pub fault: Option<Fault>,
    /// How many consumers there are.
    pub consumers: usize,
}

/// The id and the payload of each message.
pub const DELIVERIES: [(usize, usize); 3] = [(0, 0), (0, 1), (1, 0)];
const IDS: usize = 2;
const PAYLOADS: usize = 2;

/// Where everybody stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// What became of each message.
    pub messages: [Message; DELIVERIES.len()],
    /// The payload of the record under each id.
    pub records: [Option<usize>; IDS],
    /// Past: how often each payload has had its effect under each id, up to two.
    pub effects: [[u8; PAYLOADS]; IDS],
    /// Who works on what.
    pub consumers: Vec<Consumer>,
}

/// What became of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// It is in the outbox and may be delivered.
    Pending,
    /// It is finished.
    Acknowledged,
    /// It was put away for people to look at.
    Buried,
}

/// What a consumer is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Consumer {
    /// Receive something.
    Idle,
    /// Begin the record of this message.
    Received(usize),
    /// Commit: its record is written in an open transaction.
    Open(usize),
    /// Commit the effect, after the record; only a fault does it in this order.
    Recorded(usize),
    /// Commit the record, after the effect; only a fault does it in this order.
    Effected(usize),
    /// Acknowledge.
    Finished(usize),
    /// Bury.
    Conflicting(usize),
}

impl Protocol for Inbox {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        State {
            messages: [Message::Pending; DELIVERIES.len()],
            records: [None; IDS],
            effects: [[0; PAYLOADS]; IDS],
            consumers: vec![Consumer::Idle; self.consumers],
        }
    }

    fn steps(&self, state: &State) -> Vec<(Step, State)> {
        let mut steps = Vec::new();
        for (consumer, doing) in state.consumers.iter().enumerate() {
            match *doing {
                Consumer::Idle => receives(state, consumer, &mut steps),
                Consumer::Received(delivery) => self.begins(state, consumer, delivery, &mut steps),
                Consumer::Open(delivery) => self.commits(state, consumer, delivery, &mut steps),
                Consumer::Recorded(delivery) => {
                    let mut next = state.with(consumer, Consumer::Finished(delivery));
                    next.effect(delivery);
                    steps.push((Step::CommitsEffect { consumer, delivery }, next));
                }
                Consumer::Effected(delivery) => {
                    let mut next = state.with(consumer, Consumer::Finished(delivery));
                    next.record(delivery);
                    steps.push((Step::CommitsRecord { consumer, delivery }, next));
                }
                Consumer::Finished(delivery) => {
                    let mut next = state.with(consumer, Consumer::Idle);
                    next.messages[delivery] = Message::Acknowledged;
                    steps.push((Step::Acknowledges { delivery }, next));
                }
                Consumer::Conflicting(delivery) => {
                    let mut next = state.with(consumer, Consumer::Idle);
                    next.messages[delivery] = Message::Buried;
                    steps.push((Step::Buries { delivery }, next));
                }
            }
            if *doing != Consumer::Idle {
                steps.push((Step::Dies { consumer }, state.with(consumer, Consumer::Idle)));
            }
        }
        if self.fault == Some(Fault::PurgedTooEarly) {
            for id in (0..IDS).filter(|id| state.records[*id].is_some()) {
                let mut next = state.clone();
                next.records[id] = None;
                steps.push((Step::Purges { id }, next));
            }
        }
        steps
    }

    fn promises(&self) -> Vec<Promise<State>> {
        vec![
            Promise::always("an_effect_happens_once", |s| {
                s.effects.iter().all(|payloads| payloads.iter().all(|times| *times <= 1))
            }),
            Promise::always("one_payload_has_its_effect_under_an_id", |s| {
                s.effects.iter().all(|payloads| payloads.iter().filter(|times| **times > 0).count() <= 1)
            }),
            Promise::always("what_is_acknowledged_has_had_its_effect", |s| {
                let acknowledged =
                    (0..DELIVERIES.len()).filter(|at| s.messages[*at] == Message::Acknowledged);
                acknowledged.map(|at| DELIVERIES[at]).all(|(id, payload)| s.effects[id][payload] > 0)
            }),
            Promise::always("a_record_stands_for_an_effect", |s| {
                (0..IDS).all(|id| s.records[id].is_none_or(|payload| s.effects[id][payload] > 0))
            }),
            Promise::still_possible("every_message_can_still_end", |s| {
                s.messages.iter().all(|message| *message != Message::Pending)
            }),
            Promise::happens("a_repeat_is_answered_from_the_record", |s| {
                s.has_effect(0) && s.consumers.iter().all(|consumer| *consumer == Consumer::Finished(0))
            }),
            Promise::happens("another_payload_is_buried", |s| s.messages[1] == Message::Buried),
            Promise::happens("a_consumer_begins_while_another_one_has_not_committed", |s| {
                s.consumers.contains(&Consumer::Open(0)) && s.consumers.contains(&Consumer::Received(0))
            }),
        ]
    }
}

fn receives(state: &State, consumer: usize, steps: &mut Vec<(Step, State)>) {
    for delivery in (0..DELIVERIES.len()).filter(|at| state.messages[*at] == Message::Pending) {
        steps.push((
            Step::Receives { consumer, delivery },
            state.with(consumer, Consumer::Received(delivery)),
        ));
    }
}

impl Inbox {
    /// The insert decides: it waits for an open transaction that has the key, and then meets the record or none.
    fn begins(&self, state: &State, consumer: usize, delivery: usize, steps: &mut Vec<(Step, State)>) {
        let (id, payload) = DELIVERIES[delivery];
        if self.fault != Some(Fault::ReadThenInsert) && state.is_locked(id) {
            return;
        }
        let found = state.records[id].filter(|_| self.fault != Some(Fault::FoundCountsAsNew));
        let (step, doing) = match found.map(|found| self.is_repeat(payload, found)) {
            None => (Step::Inserts { consumer, delivery }, Consumer::Open(delivery)),
            Some(true) => (Step::FindsRepeat { consumer, delivery }, Consumer::Finished(delivery)),
            Some(false) => (Step::FindsConflict { consumer, delivery }, Consumer::Conflicting(delivery)),
        };
        steps.push((step, state.with(consumer, doing)));
    }

    /// By the domain's own rule.
    fn is_repeat(&self, asked: usize, found: usize) -> bool {
        let known = &*RECORDS;
        let asked = known[asked].fingerprint.filter(|_| self.fault != Some(Fault::PayloadIsNotCompared));
        matches!(repeat(asked.as_ref(), &known[found]), Repeat::Same(_))
    }

    fn commits(&self, state: &State, consumer: usize, delivery: usize, steps: &mut Vec<(Step, State)>) {
        let (step, doing) = match self.fault {
            Some(Fault::RecordedBeforeTheEffect) => {
                (Step::CommitsRecord { consumer, delivery }, Consumer::Recorded(delivery))
            }
            Some(Fault::RecordedAfterTheEffect) => {
                (Step::CommitsEffect { consumer, delivery }, Consumer::Effected(delivery))
            }
            _ => (Step::CommitsAll { consumer, delivery }, Consumer::Finished(delivery)),
        };
        let mut next = state.with(consumer, doing);
        if doing != Consumer::Effected(delivery) {
            next.record(delivery);
        }
        if doing != Consumer::Recorded(delivery) {
            next.effect(delivery);
        }
        if doing == Consumer::Finished(delivery) {
            // It is handled again, as a whole.
            let unanswered = next.with(consumer, Consumer::Received(delivery));
            steps.push((Step::Unanswered { consumer, delivery }, unanswered));
        }
        steps.push((step, next));
    }
}

/// The record that each payload leaves.
static RECORDS: LazyLock<[Record; PAYLOADS]> = LazyLock::new(|| {
    let key = StepKey::new("inbox", "message", "").expect("a key");
    let record =
        |payload: &[u8]| NewStep::new(key.clone(), 0).asked_with(Fingerprint::of(&[payload])).begun();
    [record(b"one"), record(b"another")]
});

impl State {
    fn with(&self, consumer: usize, doing: Consumer) -> Self {
        let mut next = self.clone();
        next.consumers[consumer] = doing;
        next
    }

    /// Whether an open transaction holds the key.
    fn is_locked(&self, id: usize) -> bool {
        let holds = |consumer: &Consumer| matches!(consumer, Consumer::Open(at) if DELIVERIES[*at].0 == id);
        self.consumers.iter().any(holds)
    }

    fn record(&mut self, delivery: usize) {
        let (id, payload) = DELIVERIES[delivery];
        self.records[id] = Some(payload);
    }

    fn effect(&mut self, delivery: usize) {
        let (id, payload) = DELIVERIES[delivery];
        self.effects[id][payload] = (self.effects[id][payload] + 1).min(2);
    }

    fn has_effect(&self, delivery: usize) -> bool {
        let (id, payload) = DELIVERIES[delivery];
        self.effects[id][payload] > 0
    }
}
