//! More shards for a queue that is at work: one key, whose messages lie in an old shard and belong into a new one.
//!
//! Producers of several processes know the old count and write on; relays claim on. The command that reshards keeps nothing in mind: it
//! looks at the tables before each of its steps, so one that was killed and one that was begun twice are orders of events like any other.

mod fault;
mod step;

use crate::{Promise, Protocol};
pub use fault::Fault;
pub use step::Step;

/// The protocol of resharding, with these bounds.
#[derive(Clone, Debug)]
pub struct Resharding {
    /// What is left out; nothing in ours.
    pub fault: Option<Fault>,
    /// How many messages of the key are written, at most 8.
    pub messages: usize,
    /// How many processes write.
    pub producers: usize,
    /// How many relays claim.
    pub relays: usize,
}

/// The shard of the key under the old count, and under the new one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the enum says what they are")]
pub enum Shard {
    Old,
    New,
}

/// Where a message stands; they are numbered in the order in which they are written, which is that of their due times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Row {
    Unwritten,
    Uncommitted { shard: Shard },
    Waits { shard: Shard },
    Held { shard: Shard, relay: usize },
    Gone,
}

/// What a relay is at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Relay {
    Idle,
    /// It has read the first message of a shard, and the fence of the shard's lease, which may have changed since.
    Read {
        message: usize,
        shard: Shard,
        fence_changed: bool,
    },
    Handles {
        message: usize,
    },
}

/// Where everybody stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    rows: Vec<Row>,
    /// Of each message, those that were committed before it was written, as bits.
    before: Vec<u8>,
    /// Whether each producer knows the new count.
    knows_new: Vec<bool>,
    relays: Vec<Relay>,
    is_cut: bool,
    is_open: bool,
    moved: bool,
    /// Whether a message was claimed before one that was committed before it was written.
    overtaken: bool,
}

impl Protocol for Resharding {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        State {
            rows: vec![Row::Unwritten; self.messages],
            before: vec![0; self.messages],
            knows_new: vec![false; self.producers],
            relays: vec![Relay::Idle; self.relays],
            is_cut: false,
            is_open: false,
            moved: false,
            overtaken: false,
        }
    }

    fn steps(&self, state: &State) -> Vec<(Step, State)> {
        let mut steps = Vec::new();
        (0..self.producers).for_each(|producer| self.writes(state, producer, &mut steps));
        (0..self.messages).for_each(|message| ends_transaction(state, message, &mut steps));
        self.reshards(state, &mut steps);
        (0..self.relays).for_each(|relay| self.relays_on(state, relay, &mut steps));
        steps
    }

    fn promises(&self) -> Vec<Promise<State>> {
        vec![
            Promise::always("no_message_is_handled_before_one_that_comes_first", |s| !s.overtaken),
            Promise::always("handlers_of_a_key_never_overlap", |s| s.handling() <= 1),
            Promise::every_step("what_has_ended_stays_ended", |from, to| {
                from.rows.iter().zip(&to.rows).all(|(from, to)| *from != Row::Gone || *to == Row::Gone)
            }),
            Promise::still_possible("every_message_can_still_end_and_the_new_shard_be_open", |s| {
                s.is_open && s.rows.iter().all(|row| *row == Row::Gone)
            }),
            Promise::happens("a_message_is_moved_and_handled_in_the_new_shard", |s| {
                s.moved && s.relays.iter().any(|relay| matches!(relay, Relay::Read { shard: Shard::New, .. }))
            }),
            Promise::happens("a_message_is_in_hand_in_the_old_shard_after_the_cut", |s| {
                s.is_cut && s.rows.iter().any(|row| matches!(row, Row::Held { shard: Shard::Old, .. }))
            }),
        ]
    }
}

impl Resharding {
    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// A producer writes its next message by the count that it knows; if that is not the count any more, the table refuses it.
    fn writes(&self, state: &State, producer: usize, steps: &mut Vec<(Step, State)>) {
        let knows_new = state.knows_new[producer];
        let mut next = state.clone();
        if knows_new != state.is_cut && !self.has(Fault::BelievesWhatItKnew) {
            next.knows_new[producer] = true;
            return steps.push((Step::Learns { producer }, next));
        }
        let Some(message) = state.rows.iter().position(|row| *row == Row::Unwritten) else { return };
        let is_committed = |row: &Row| matches!(row, Row::Waits { .. } | Row::Held { .. } | Row::Gone);
        let bit = |(number, row): (usize, &Row)| u8::from(is_committed(row)) << number;
        next.before[message] = state.rows.iter().enumerate().map(bit).sum();
        next.rows[message] = Row::Uncommitted { shard: if knows_new { Shard::New } else { Shard::Old } };
        steps.push((Step::Writes { producer, message, into_new: knows_new }, next));
    }

    /// What the command may do now, by the tables alone.
    fn reshards(&self, state: &State, steps: &mut Vec<(Step, State)>) {
        let old = Shard::Old;
        if !state.is_cut {
            let is_waited_for = state.rows.contains(&Row::Uncommitted { shard: old });
            if !is_waited_for || self.has(Fault::CutsAcross) {
                steps.push((Step::Cuts, State { is_cut: true, ..state.clone() }));
            }
            return;
        }
        let waiting = |row: &Row| *row == Row::Waits { shard: old };
        let chosen = match self.has(Fault::MovesOldestFirst) {
            true => state.rows.iter().position(waiting),
            false => state.rows.iter().rposition(waiting),
        };
        let is_held = |row: &Row| matches!(row, Row::Held { shard: Shard::Old, .. });
        let held = state.rows.iter().position(is_held);
        for message in chosen.into_iter().chain(held.filter(|_| self.has(Fault::MovesWhatIsHeld))) {
            let mut next = State { moved: true, ..state.clone() };
            next.rows[message] = Row::Waits { shard: Shard::New };
            if !self.has(Fault::MovesWithoutFence) {
                next.change_fence(old);
            }
            steps.push((Step::Moves { message }, next));
        }
        let is_free = held.is_none() || self.has(Fault::OpensTooSoon);
        if !state.is_open && is_free && !state.rows.iter().any(waiting) {
            steps.push((Step::Opens, State { is_open: true, ..state.clone() }));
        }
    }

    /// A relay reads the first message of a shard, claims it if the fence is still the one that it has read, and ends it.
    fn relays_on(&self, state: &State, relay: usize, steps: &mut Vec<(Step, State)>) {
        let mut next = state.clone();
        match state.relays[relay] {
            Relay::Idle => {
                for (message, shard) in state.first_of_shards() {
                    next.relays[relay] = Relay::Read { message, shard, fence_changed: false };
                    steps.push((Step::Reads { relay, message }, next.clone()));
                }
            }
            Relay::Read { message, fence_changed: true, .. } => {
                next.relays[relay] = Relay::Idle;
                steps.push((Step::IsRefused { relay, message }, next));
            }
            Relay::Read { message, shard, .. } => {
                next.change_fence(shard);
                let is_gone = |before: usize| state.rows[before] == Row::Gone;
                let first = |before: &usize| state.before[message] & (1 << before) != 0;
                next.overtaken |= !(0..self.messages).filter(first).all(is_gone);
                next.rows[message] = Row::Held { shard, relay };
                next.relays[relay] = Relay::Handles { message };
                steps.push((Step::Claims { relay, message }, next));
            }
            Relay::Handles { message } => {
                next.relays[relay] = Relay::Idle;
                let Row::Held { shard, relay: holder } = state.rows[message] else {
                    return steps.push((Step::Ends { relay, message }, next));
                };
                if holder == relay {
                    next.change_fence(shard);
                    next.rows[message] = Row::Waits { shard };
                    steps.push((Step::GivesBack { relay, message }, next.clone()));
                    next.rows[message] = Row::Gone;
                }
                steps.push((Step::Ends { relay, message }, next));
            }
        }
    }
}

impl State {
    /// The first message of each open shard in which nothing is in hand.
    fn first_of_shards(&self) -> Vec<(usize, Shard)> {
        let shards = [Some(Shard::Old), self.is_open.then_some(Shard::New)];
        let first = |shard: Shard| {
            let is_held = |row: &Row| matches!(row, Row::Held { shard: held, .. } if *held == shard);
            let first = self.rows.iter().position(|row| *row == Row::Waits { shard });
            first.filter(|_| !self.rows.iter().any(is_held)).map(|message| (message, shard))
        };
        shards.into_iter().flatten().filter_map(first).collect()
    }

    /// The lease row of a shard is written, so a relay that has read it before finds another fence.
    fn change_fence(&mut self, of: Shard) {
        for relay in &mut self.relays {
            if let Relay::Read { shard, fence_changed, .. } = relay
                && *shard == of
            {
                *fence_changed = true;
            }
        }
    }

    fn handling(&self) -> usize {
        self.relays.iter().filter(|relay| matches!(relay, Relay::Handles { .. })).count()
    }
}

/// A transaction commits, or is rolled back and leaves nothing.
fn ends_transaction(state: &State, message: usize, steps: &mut Vec<(Step, State)>) {
    let Row::Uncommitted { shard } = state.rows[message] else { return };
    let mut next = state.clone();
    next.rows[message] = Row::Waits { shard };
    steps.push((Step::Commits { message }, next.clone()));
    next.rows[message] = Row::Gone;
    steps.push((Step::RollsBack { message }, next));
}
