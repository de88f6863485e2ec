//! The lease of a shard: a process leases the shard as a whole, hands its messages out without a write for each, and proves
//! the fence of the lease whenever it writes.
//!
//! Each process has books of what it has in flight, and two hands that handle messages. Its calls take turns at the books:
//! between the read of a claim and its write it writes nothing else. A process may die at any point, and what it has sent
//! may arrive late. The answer to a write may be lost for good. Leases and claims run out whenever they like. The store may
//! lose its last write once.

mod claim;
mod fault;
mod holder;
mod process;
mod request;
mod settlement;
mod step;
mod table;

pub use fault::Fault;
pub use holder::Holder;
pub use process::{Flight, Hand, Process, Wish};
pub use request::Request;
pub use step::Step;
pub use table::{Message, Row, Table};

use crate::{Promise, Protocol};

/// The lease of one shard, with these bounds.
#[derive(Clone, Debug)]
pub struct ShardLease {
    /// What is wrong with it; nothing in ours.
    pub fault: Option<Fault>,
    /// How many messages there are.
    pub messages: usize,
    /// How many processes work on them.
    pub processes: usize,
    /// Whether processes may die, and what they have sent may arrive late.
    pub deaths: bool,
    /// Whether the answer to a write may be lost for good.
    pub lost_answers: bool,
    /// Whether the store may lose its last write, once.
    pub falls_back: bool,
    /// Whether an operator takes leases from their holders.
    pub releases: bool,
}

/// How often a message is tried in the model.
pub(crate) const MAX_ATTEMPTS: u8 = 2;

/// Where everybody stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// What the store has.
    pub table: Table,
    /// What it had before its last write; nothing once it has lost one.
    pub before: Option<Table>,
    /// Who works on it.
    pub processes: Vec<Process>,
    /// What a dead process has sent.
    pub late: Option<Request>,
    /// Past: a process went on from a fence that went back.
    pub went_back: bool,
    /// Past: an operator released a lease.
    pub released: bool,
}

impl Protocol for ShardLease {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        let table = Table::with(self.messages);
        State {
            before: self.falls_back.then(|| table.clone()),
            table,
            processes: vec![Process::started(self.messages); self.processes],
            late: None,
            went_back: false,
            released: false,
        }
    }

    fn steps(&self, state: &State) -> Vec<(Step, State)> {
        let mut steps = Vec::new();
        self.time_passes(state, &mut steps);
        self.store_falls_back(state, &mut steps);
        self.is_released(state, &mut steps);
        for process in 0..state.processes.len() {
            self.takes_over(state, process, &mut steps);
            for hand in 0..Process::HANDS {
                self.moves(state, process, hand, &mut steps);
            }
            self.dies(state, process, &mut steps);
        }
        self.late_arrives(state, &mut steps);
        for (_, next) in &mut steps {
            self.forget_what_changes_nothing(next);
            next.count_fences_from_the_row();
        }
        steps
    }

    fn promises(&self) -> Vec<Promise<State>> {
        let mut promises: Vec<Promise<State>> = vec![
            Promise::still_possible("every_message_can_still_end", |s| {
                s.table.messages.iter().all(|message| message.ended)
            }),
            Promise::happens("a_message_ends", |s| s.table.messages.iter().any(|message| message.ended)),
            Promise::happens(
                "a_claim_that_ran_out_is_handed_out_again_at_home",
                State::has_overtaken_at_home,
            ),
        ];
        if self.falls_back {
            promises.push(Promise::happens("a_process_goes_on_from_a_fence_that_went_back", |s| s.went_back));
        } else {
            promises.extend(always());
        }
        if self.releases {
            promises.push(Promise::happens("a_lease_is_released_while_its_holder_works", |s| {
                let works =
                    |process: &Process| process.hands.iter().flatten().any(|hand| hand.wish == Wish::Decide);
                s.released && s.table.row.holder == Holder::Free && s.processes.iter().any(works)
            }));
        }
        if self.processes > 1 {
            promises.push(Promise::happens("a_lease_is_taken_over_while_its_holder_works", |s| {
                s.processes.iter().enumerate().any(|(n, process)| {
                    let elsewhere = matches!(s.table.row.holder, Holder::Process(holder) if holder != n);
                    elsewhere && process.hands.iter().flatten().any(|hand| hand.wish == Wish::Decide)
                })
            }));
        }
        promises
    }
}

/// What holds as long as the store loses nothing.
fn always() -> [Promise<State>; 4] {
    [
        Promise::always("only_the_newest_hand_is_accepted", |s| !s.table.messages.iter().any(|m| m.stale)),
        Promise::always("a_verdict_is_written_once", |s| !s.table.messages.iter().any(|m| m.doubled)),
        Promise::always("nothing_that_has_ended_is_handed_out", |s| {
            !s.table.messages.iter().any(|m| m.raised)
        }),
        Promise::always("no_handler_is_begun_more_often_than_allowed", |s| {
            s.table.messages.iter().all(|message| message.begun <= MAX_ATTEMPTS)
        }),
    ]
}

impl ShardLease {
    /// The lease runs out, and with it all that was handed out so far.
    fn time_passes(&self, state: &State, steps: &mut Vec<(Step, State)>) {
        let mut next = state.clone();
        next.table.row.over = next.table.row.holder != Holder::Free;
        for process in &mut next.processes {
            process.flights.iter_mut().flatten().for_each(|flight| flight.lapsed = true);
        }
        if next != *state {
            steps.push((Step::TimePasses, next));
        }
    }

    fn store_falls_back(&self, state: &State, steps: &mut Vec<(Step, State)>) {
        if let Some(before) = &state.before
            && *before != state.table
        {
            let mut next = state.clone();
            (next.table, next.before) = (before.clone(), None);
            steps.push((Step::FallsBack, next));
        }
    }

    /// An operator takes the lease from its holder, which hears nothing of it.
    fn is_released(&self, state: &State, steps: &mut Vec<(Step, State)>) {
        if !self.releases || state.table.row.holder == Holder::Free {
            return;
        }
        let mut next = state.clone();
        next.released = true;
        next.write(|table| table.end_lease(self.fault != Some(Fault::ReleasedUncharged)));
        steps.push((Step::IsReleased, next));
    }

    fn moves(&self, state: &State, process: usize, hand: usize, steps: &mut Vec<(Step, State)>) {
        let Some(Hand { wish, .. }) = state.processes[process].hands[hand] else {
            return self.reads(state, process, hand, steps);
        };
        match wish {
            Wish::Take { .. } => self.takes(state, process, hand, steps),
            Wish::Begin => {
                let mut next = state.clone();
                next.begins(process, hand);
                steps.push((Step::Begins { process, hand }, next));
                self.decides(state, process, hand, &[Wish::Return], steps);
                self.drops(state, process, hand, steps);
            }
            Wish::Decide => {
                self.decides(state, process, hand, &[Wish::Done, Wish::Retry], steps);
                self.renews(state, process, hand, steps);
                self.drops(state, process, hand, steps);
            }
            Wish::Done | Wish::Retry | Wish::Return => self.settles(state, process, hand, steps),
        }
    }

    /// Makes one state of those that have the same future.
    fn forget_what_changes_nothing(&self, state: &mut State) {
        if self.fault == Some(Fault::NotInTheBooks) {
            return;
        }
        for process in &mut state.processes {
            process.forget_the_fence_of_nothing(state.table.row.fence);
            process.sort_hands();
        }
    }

    fn decides(
        &self,
        state: &State,
        process: usize,
        hand: usize,
        among: &[Wish],
        steps: &mut Vec<(Step, State)>,
    ) {
        for wish in among {
            let mut next = state.clone();
            next.processes[process].wants(hand, *wish);
            steps.push((Step::Decides { process, hand, wish: *wish }, next));
        }
    }

    /// Lets a message go without an answer.
    fn drops(&self, state: &State, process: usize, hand: usize, steps: &mut Vec<(Step, State)>) {
        let mut next = state.clone();
        next.processes[process].hands[hand] = None;
        steps.push((Step::Drops { process, hand }, next));
    }
}

impl State {
    /// Writes the table; what it was can come back.
    fn write(&mut self, write: impl FnOnce(&mut Table)) {
        if self.before.is_some() {
            self.before = Some(self.table.clone());
        }
        write(&mut self.table);
    }

    fn begins(&mut self, process: usize, hand: usize) {
        if let Some(Hand { message, .. }) = self.processes[process].hands[hand] {
            self.processes[process].wants(hand, Wish::Decide);
            for table in std::iter::once(&mut self.table).chain(&mut self.before) {
                table.messages[message].begin();
            }
        }
    }

    /// Changes every hand on a message, and a settlement of it that is on its way.
    fn note(&mut self, message: usize, hands: impl Fn(&mut Hand), late: impl Fn(&mut Request)) {
        let all = self.processes.iter_mut().flat_map(|process| &mut process.hands).flatten();
        all.filter(|hand| hand.message == message).for_each(hands);
        self.late.iter_mut().filter(|request| request.message == message).for_each(late);
    }

    /// Whether a process handles a message twice, the first time under a claim that has run out.
    fn has_overtaken_at_home(&self) -> bool {
        self.processes.iter().any(|process| {
            let [Some(one), Some(other)] = process.hands else { return false };
            one.message == other.message && [one, other].iter().all(|hand| hand.wish == Wish::Decide)
        })
    }

    /// The row's fence is 0, and one that is far from it is as good as any other that is: so there is no end to take-overs.
    fn count_fences_from_the_row(&mut self) {
        let zero = self.table.row.fence;
        let moved = |fence: &mut i8| *fence = (*fence - zero).clamp(-2, 2);
        moved(&mut self.table.row.fence);
        self.before.iter_mut().for_each(|table| moved(&mut table.row.fence));
        self.processes.iter_mut().for_each(|process| moved(&mut process.fence));
        self.late.iter_mut().for_each(|late| moved(&mut late.fence));
    }
}
