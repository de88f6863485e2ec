//! Runs of a key: a process claims several messages of one key, hands out the next when the settlement of the one before is on
//! its way, and writes the settlements under the fence of the shard's lease.
//!
//! The answers to claims and the settlements come at any time and in any order; nothing says which call is served first. A lease
//! runs out whenever it likes, and no handler goes on after that. A process may die at any point.

mod fault;
mod process;
mod step;

pub use fault::Fault;
pub use process::{End, Flight, Process, Run};
pub use step::Step;

use crate::{Promise, Protocol};

/// The messages of one key in one shard.
#[derive(Clone, Debug)]
pub struct KeyRun {
    /// What is wrong with it; nothing in ours.
    pub fault: Option<Fault>,
    /// How many messages there are.
    pub messages: usize,
    /// How many processes work on them.
    pub processes: usize,
}

/// The holder that no process is.
const DEAD: usize = usize::MAX;

/// Where everybody stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// Whose lease it is, if it is not free.
    pub holder: Option<usize>,
    /// It has run out.
    pub over: bool,
    /// What has ended.
    pub done: Vec<bool>,
    /// What waits for its retry.
    pub parked: Vec<bool>,
    /// Past: whose handler has succeeded since it failed last.
    pub handled: Vec<bool>,
    /// Who works on it.
    pub processes: Vec<Process>,
    /// Past: a handler began while another was at a message of the key.
    pub overlapped: bool,
    /// Past: a handler began with a message before one that comes first.
    pub overtaken: bool,
    /// Past: an end was accepted before that of a message that comes first.
    pub gap: bool,
}

impl Protocol for KeyRun {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        let none = vec![false; self.messages];
        State {
            holder: None,
            over: false,
            done: none.clone(),
            parked: none.clone(),
            handled: none,
            processes: vec![Process::started(self.messages); self.processes],
            overlapped: false,
            overtaken: false,
            gap: false,
        }
    }

    fn steps(&self, state: &State) -> Vec<(Step, State)> {
        let mut steps = Vec::new();
        time_passes(state, &mut steps);
        for message in (0..self.messages).filter(|message| state.parked[*message]) {
            let mut next = state.clone();
            next.parked[message] = false;
            steps.push((Step::RetryIsDue { message }, next));
        }
        for process in 0..self.processes {
            takes_over(state, process, &mut steps);
            self.claims(state, process, &mut steps);
            self.works(state, process, &mut steps);
            self.settles(state, process, &mut steps);
            dies(state, process, &mut steps);
        }
        steps.retain(|(_, next)| next != state);
        steps
    }

    fn promises(&self) -> Vec<Promise<State>> {
        vec![
            Promise::always("handlers_of_a_key_never_overlap", |s| !s.overlapped),
            Promise::always("no_message_is_handled_before_one_that_comes_first", |s| !s.overtaken),
            Promise::always("accepted_ends_are_in_order_without_a_gap", |s| !s.gap),
            Promise::still_possible("every_message_can_still_end", |s| s.done.iter().all(|done| *done)),
            Promise::happens("the_tail_of_a_run_comes_again", |s| {
                s.handled.iter().zip(&s.done).any(|(handled, done)| *handled && !done) && s.holder.is_none()
            }),
            Promise::happens("two_ends_of_a_run_are_on_their_way", |s| {
                let on_their_way = |p: &Process| p.ends.iter().filter(|end| **end == Some(End::Done)).count();
                s.processes.iter().any(|process| on_their_way(process) > 1)
            }),
        ]
    }
}

/// The lease runs out, and with it all claims: no handler goes on, and nothing that is kept back is relied on.
fn time_passes(state: &State, steps: &mut Vec<(Step, State)>) {
    let mut next = state.clone();
    next.over = next.holder.is_some();
    for process in &mut next.processes {
        process.flights.iter_mut().flatten().for_each(|flight| flight.lapsed = true);
        process.answer.clear();
        (process.run, process.handles) = (None, None);
    }
    steps.push((Step::TimePasses, next));
}

fn takes_over(state: &State, by: usize, steps: &mut Vec<(Step, State)>) {
    if state.over && state.holder != Some(by) {
        let mut next = state.clone();
        (next.holder, next.over) = (None, false);
        next.new_fence();
        next.processes[by].lose();
        steps.push((Step::TakesOver { process: by }, next));
    }
}

fn dies(state: &State, process: usize, steps: &mut Vec<(Step, State)>) {
    let mut next = state.clone();
    next.processes[process] = Process::started(state.done.len());
    // Its lease stays until it has run out, and no other process has its name.
    if next.holder == Some(process) {
        next.holder = Some(DEAD);
    }
    steps.push((Step::Dies { process }, next));
}

impl KeyRun {
    /// Reads and writes the lease row in one step: the model of the shard lease has them apart.
    fn claims(&self, state: &State, by: usize, steps: &mut Vec<(Step, State)>) {
        let process = &state.processes[by];
        let is_free = state.holder.is_none();
        if !process.answer.is_empty() || !(is_free || (state.holder == Some(by) && process.knows_fence)) {
            return;
        }
        if !process.knows_fence && process.flights.iter().any(Option::is_some) {
            let mut next = state.clone();
            next.processes[by].lose();
            return steps.push((Step::Loses { process: by }, next));
        }
        let picked = picked(state, by);
        for count in 1..=picked.len() {
            let mut next = state.clone();
            if is_free || process.flights.iter().all(Option::is_none) {
                next.new_fence();
            }
            let own = &mut next.processes[by];
            for (message, _) in &picked[..count] {
                own.flights[*message] = Some(Flight::default());
                // A settlement under the claim before it is superseded.
                own.ends[*message] = None;
            }
            own.answer = picked[..count].to_vec();
            own.knows_fence = true;
            (next.holder, next.over) = (Some(by), false);
            steps.push((Step::Claims { process: by, count }, next));
        }
    }

    fn works(&self, state: &State, by: usize, steps: &mut Vec<(Step, State)>) {
        let process = &state.processes[by];
        if !process.answer.is_empty() {
            let mut next = state.clone();
            let own = &mut next.processes[by];
            for (message, behind) in std::mem::take(&mut own.answer) {
                own.admit(message, behind, self.fault == Some(Fault::TakenInBehindAnything));
            }
            steps.push((Step::Hears { process: by }, next));
        }
        if let Some(message) = process.handles {
            self.ends(state, by, message, steps);
        } else if let Some(Run { first: Some(message), .. }) = process.run {
            let mut next = state.clone();
            next.overlapped |= state.processes.iter().any(|process| process.handles.is_some());
            next.overtaken |= !state.handled[..message].iter().all(|handled| *handled);
            next.processes[by].handles = Some(message);
            steps.push((Step::Begins { process: by, message }, next));
        }
        if process.run.as_ref().is_some_and(|run| !run.held.is_empty()) {
            let mut next = state.clone();
            let own = &mut next.processes[by];
            let first = own.run.as_ref().and_then(|run| run.first);
            own.stop();
            own.run = first.map(|first| Run { last: first, first: Some(first), held: Vec::new() });
            steps.push((Step::GivesBack { process: by }, next));
        }
    }

    /// A handler ends, and its settlement joins a batch.
    fn ends(&self, state: &State, by: usize, message: usize, steps: &mut Vec<(Step, State)>) {
        for end in [End::Done, End::Retry, End::Return] {
            let mut next = state.clone();
            let own = &mut next.processes[by];
            (own.handles, own.ends[message]) = (None, Some(end));
            match end == End::Done || self.fault == Some(Fault::GoesOnAfterAFailure) {
                true => own.go_on(),
                false => own.stop(),
            }
            next.handled[message] = end == End::Done;
            steps.push((Step::Ends { process: by, message, end }, next));
        }
    }

    /// The store takes one of the settlements on their way, whichever comes first.
    fn settles(&self, state: &State, by: usize, steps: &mut Vec<(Step, State)>) {
        let process = &state.processes[by];
        for message in 0..process.ends.len() {
            let Some(end) = process.ends[message] else { continue };
            let Some(flight) = process.flights[message] else {
                steps.push(superseded(state, by, message, end));
                continue;
            };
            let any_order = end == End::Return || self.fault == Some(Fault::EndsInAnyOrder);
            if flight.revoked && end != End::Return {
                steps.push(superseded(state, by, message, end));
            } else if !any_order && process.flights[..message].iter().any(Option::is_some) {
                // It comes again later.
            } else if !process.knows_fence && self.fault != Some(Fault::NotFenced) {
                let (step, mut next) = superseded(state, by, message, end);
                next.processes[by].lose();
                steps.push((step, next));
            } else {
                steps.push(accepted(state, by, message, end));
            }
        }
    }
}

/// What a claim may take, as `claim/keys.rs` of the adapter decides.
fn picked(state: &State, by: usize) -> Vec<(usize, Option<usize>)> {
    let flights = &state.processes[by].flights;
    let all_lapsed = flights.iter().flatten().all(|flight| flight.lapsed);
    let any_lapsed = flights.iter().flatten().any(|flight| flight.lapsed);
    let newest = (0..flights.len()).rev().find(|n| flights[*n].is_some());
    let mut before = if all_lapsed { None } else { newest };
    let mut picked = Vec::new();
    for message in (0..flights.len()).filter(|message| !state.done[*message]) {
        if flights[message].is_some() && !all_lapsed {
            continue;
        }
        let is_behind = all_lapsed || (!any_lapsed && newest.is_none_or(|newest| newest < message));
        if state.parked[message] || !is_behind {
            break;
        }
        picked.push((message, before));
        before = Some(message);
    }
    picked
}

fn superseded(state: &State, by: usize, message: usize, end: End) -> (Step, State) {
    let mut next = state.clone();
    let own = &mut next.processes[by];
    (own.ends[message], own.flights[message]) = (None, None);
    if end == End::Done {
        own.stop();
    }
    (Step::Settles { process: by, message, end, accepted: false }, next)
}

fn accepted(state: &State, by: usize, message: usize, end: End) -> (Step, State) {
    let mut next = state.clone();
    let own = &mut next.processes[by];
    (own.ends[message], own.flights[message]) = (None, None);
    match end {
        End::Done => {
            next.gap |= state.done[message] || !state.done[..message].iter().all(|done| *done);
            next.done[message] = true;
        }
        End::Retry => {
            own.revoke_behind(message);
            next.parked[message] = true;
        }
        End::Return => own.revoke_behind(message),
    }
    if next.processes[by].flights.iter().all(Option::is_none) && next.holder == Some(by) {
        (next.holder, next.over) = (None, false);
    }
    (Step::Settles { process: by, message, end, accepted: true }, next)
}

impl State {
    fn new_fence(&mut self) {
        self.processes.iter_mut().for_each(|process| process.knows_fence = false);
    }
}
