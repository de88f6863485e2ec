use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard},
};

/// What is known of every message from outside.
pub(super) struct Ledger {
    order: &'static str,
    noted: Mutex<Noted>,
}

/// A message: its key, and its place among those of the key, counted from 1.
pub(super) type Message = (String, usize);

#[derive(Default)]
struct Noted {
    /// The newest message of each key whose handler has begun.
    newest: HashMap<String, usize>,
    /// The messages whose handlers run, each with the relay.
    in_hand: HashMap<Message, usize>,
    /// Messages that are being acknowledged, each with the relay.
    acknowledging: HashMap<Message, usize>,
    /// How often a handler has begun.
    begun: HashMap<Message, usize>,
    /// How often an acknowledgement was accepted.
    done: HashMap<Message, usize>,
    /// Messages that come again: the relay was killed, or the handler has failed, or the acknowledgement was not accepted.
    again: HashSet<Message>,
    /// Acknowledgements with an unknown outcome.
    unknown: HashSet<Message>,
    /// Failed messages that have not come again.
    failed: HashSet<Message>,
    /// Failures that are written next, by the relay that writes them.
    failing: HashMap<Message, usize>,
    faults: Vec<String>,
}

impl Ledger {
    pub(super) fn of(order: &'static str) -> Self {
        Self { order, noted: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap()
    }

    /// A handler begins; says how often one has begun for this message.
    pub(super) fn begin(&self, message: &Message, relay: usize) -> usize {
        let mut noted = self.lock();
        let (key, number) = (&message.0, message.1);
        let is_ordered = self.order != "none";
        let together_with = noted.in_hand.keys().find(|other| is_ordered && other.0 == *key).cloned();
        if let Some(other) = together_with {
            noted.faults.push(format!("{key} is in two hands at {number}, together with {other:?}"));
        }
        noted.in_hand.insert(message.clone(), relay);
        let newest = noted.newest.get(key).copied().unwrap_or_default();
        let is_repeat = number <= newest && noted.again.contains(message);
        noted.failed.remove(message);
        if is_ordered && !is_repeat && number != newest + 1 {
            noted.faults.push(format!("{key}: {number} follows {newest}"));
        }
        if self.order == "per_key" && noted.failed.iter().any(|failed| failed.0 == *key) {
            noted.faults.push(format!("{key}: {number} overtakes one that has failed"));
        }
        noted.newest.insert(key.clone(), newest.max(number));
        let begun = noted.begun.entry(message.clone()).or_default();
        *begun += 1;
        *begun
    }

    /// The handler ends, and what it says is written next.
    pub(super) fn acknowledge(&self, message: &Message, relay: usize) {
        let mut noted = self.lock();
        noted.in_hand.remove(message);
        noted.acknowledging.insert(message.clone(), relay);
    }

    /// The handler ends in a failure, which is written next, and the message is to come again.
    pub(super) fn fail(&self, message: &Message, relay: usize) {
        let mut noted = self.lock();
        noted.in_hand.remove(message);
        noted.failing.insert(message.clone(), relay);
        noted.again.insert(message.clone());
        noted.failed.insert(message.clone());
    }

    /// The failure is written.
    pub(super) fn failed(&self, message: &Message) {
        self.lock().failing.remove(message);
    }

    pub(super) fn accepted(&self, message: &Message) {
        let mut noted = self.lock();
        noted.acknowledging.remove(message);
        *noted.done.entry(message.clone()).or_default() += 1;
    }

    /// The handler took longer than its lease, and another relay has the message by now.
    pub(super) fn superseded(&self, message: &Message) {
        let mut noted = self.lock();
        noted.acknowledging.remove(message);
        noted.again.insert(message.clone());
    }

    /// The handler will take longer than its lease.
    pub(super) fn comes_again(&self, message: &Message) {
        self.lock().again.insert(message.clone());
    }

    /// The relay whose handler of a message runs.
    pub(super) fn holder(&self, message: &Message) -> Option<usize> {
        self.lock().in_hand.get(message).copied()
    }

    /// The store has not answered.
    pub(super) fn not_accepted(&self, message: &Message) {
        let mut noted = self.lock();
        noted.acknowledging.remove(message);
        noted.again.insert(message.clone());
        noted.unknown.insert(message.clone());
    }

    /// The relay was killed: what it has had in hand comes again. A failure that it had not written is none: those before it of its key, which are
    /// written with it, come again as well, and before it.
    pub(super) fn is_gone(&self, relay: usize) {
        let noted = &mut *self.lock();
        let in_hand = noted.in_hand.extract_if(|_, holder| *holder == relay);
        noted.again.extend(in_hand.map(|(message, _)| message));
        for (message, _) in noted.failing.extract_if(|_, holder| *holder == relay) {
            noted.failed.remove(&message);
        }
        for (message, _) in noted.acknowledging.extract_if(|_, holder| *holder == relay) {
            noted.again.insert(message.clone());
            noted.unknown.insert(message);
        }
    }

    /// How many messages have come to an end.
    pub(super) fn done(&self) -> usize {
        let noted = self.lock();
        let only_unknown = noted.unknown.iter().filter(|message| !noted.done.contains_key(*message));
        noted.done.len() + only_unknown.count()
    }

    /// Those that were accepted twice, or handled twice without a reason.
    pub(super) fn doubled(&self) -> Vec<Message> {
        let noted = self.lock();
        let twice = noted.done.iter().filter(|(_, times)| **times > 1);
        let again =
            noted.begun.iter().filter(|(message, times)| **times > 1 && !noted.again.contains(*message));
        twice.chain(again).map(|(message, _)| message.clone()).collect()
    }

    pub(super) fn faults(&self) -> Vec<String> {
        self.lock().faults.clone()
    }
}
