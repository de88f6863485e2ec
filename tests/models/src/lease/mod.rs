//! The lease: workers claim messages, handle them, and settle them by their claim ids.
//!
//! A worker holds one message at a time. Its claim's answer may be lost, it may die or stand still at any point, and what
//! it has sent may arrive late, twice, or never. A lease may run out whatever its holder does, because no clock is
//! believed.

mod fault;
mod row;
mod step;
mod worker;

use claimstream_domain::{Event, RetryPolicy, State as Stands, Verdict, decide};

use crate::{Promise, Protocol};
pub use fault::Fault;
pub use row::Row;
pub use step::Step;
pub use worker::{Request, Wish, Worker};

/// The lease protocol of the queue table, with these bounds.
#[derive(Clone, Debug)]
pub struct Lease {
    /// What is wrong with it; nothing in ours.
    pub fault: Option<Fault>,
    /// How many messages there are.
    pub messages: usize,
    /// The instance that each worker belongs to; by it only a fault decides.
    pub workers: Vec<u8>,
    /// Whether workers may die, and the answers to their claims be lost.
    pub mishaps: bool,
    /// How many requests of dead workers may be on their way at a time.
    pub late: usize,
    /// How often a message is excused whose lease ran out under its handler because the table was slow.
    pub excuses: u8,
}

/// How often a message is tried in the model.
pub(crate) const MAX_ATTEMPTS: u8 = 2;

/// Where everybody stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// The table.
    pub rows: Vec<Row>,
    /// Who works on it.
    pub workers: Vec<Worker>,
    /// What was sent by workers that have died since, in order.
    pub late: Vec<Request>,
}

impl Protocol for Lease {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        State {
            rows: vec![Row::enqueued(self.excuses); self.messages],
            workers: vec![Worker::Idle; self.workers.len()],
            late: Vec::new(),
        }
    }

    fn steps(&self, state: &State) -> Vec<(Step, State)> {
        let mut steps = Vec::new();
        for message in 0..state.rows.len() {
            self.time_passes(state, message, &mut steps);
        }
        for worker in 0..state.workers.len() {
            match state.workers[worker] {
                Worker::Idle => self.claims(state, worker, &mut steps),
                Worker::Holds { .. } => self.begins(state, worker, &mut steps),
                Worker::Handles { .. } => self.ends(state, worker, &mut steps),
                Worker::Awaits(request) => self.sends(state, worker, request, &mut steps),
            }
        }
        for n in 0..state.late.len() {
            self.late_arrives(state, n, &mut steps);
        }
        for (_, next) in &mut steps {
            next.renumber_claims();
        }
        steps
    }

    fn promises(&self) -> Vec<Promise<State>> {
        vec![
            Promise::always("only_the_newest_claim_is_accepted", |s| !s.rows.iter().any(|row| row.stale)),
            Promise::always("a_claim_is_accepted_once", |s| !s.rows.iter().any(|row| row.doubled)),
            Promise::always("no_handler_is_begun_more_often_than_allowed", |s| {
                s.rows.iter().all(|row| row.begun <= row.allowed)
            }),
            Promise::every_step("what_has_ended_stays_ended", |from, to| {
                from.rows.iter().zip(&to.rows).all(|(from, to)| !from.has_ended() || from.stands == to.stands)
            }),
            Promise::still_possible("every_message_can_still_end", |s| s.rows.iter().all(Row::has_ended)),
            Promise::happens("a_message_is_done", |s| s.rows.iter().any(|row| row.stands == Stands::Done)),
            Promise::happens("a_message_is_dead", |s| s.rows.iter().any(|row| row.stands == Stands::Dead)),
            Promise::happens("a_handler_goes_on_after_its_message_was_taken", State::has_overtaken_handler),
            Promise::happens(
                "a_settlement_comes_after_its_message_was_taken",
                State::has_overtaken_settlement,
            ),
        ]
    }
}

impl Lease {
    /// The moment that a message waits for: the end of its lease, or of its delay.
    fn time_passes(&self, state: &State, message: usize, steps: &mut Vec<(Step, State)>) {
        let mut next = state.clone();
        if next.rows[message].time_passes() {
            let leased = next.rows[message].stands == Stands::Leased;
            steps.push((Step::TimePasses { message, leased }, next));
        }
    }

    fn claims(&self, state: &State, worker: usize, steps: &mut Vec<(Step, State)>) {
        for message in 0..state.rows.len() {
            if !state.rows[message].is_claimable(self.fault) {
                continue;
            }
            let claim = state.unused_claim(message);
            let mut next = state.clone();
            let attempt = next.rows[message].take(claim, self.workers[worker], self.fault);
            if self.mishaps {
                steps.push((Step::ClaimUnanswered { worker, message }, next.clone()));
            }
            next.workers[worker] = match attempt > MAX_ATTEMPTS {
                // The handler does not see it any more.
                true => self.awaits(worker, message, claim, event(Verdict::bury("no attempt left"), attempt)),
                false => Worker::Holds { message, claim, attempt },
            };
            steps.push((Step::Claims { worker, message, attempt }, next));
        }
    }

    fn begins(&self, state: &State, worker: usize, steps: &mut Vec<(Step, State)>) {
        let Worker::Holds { message, claim, attempt } = state.workers[worker] else { return };
        let mut next = state.clone();
        next.workers[worker] = Worker::Handles { message, claim, attempt };
        next.rows[message].begin();
        steps.push((Step::Begins { worker, message }, next));
        self.verdict(state, worker, Verdict::Release, steps);
        self.dies(state, worker, steps);
    }

    fn ends(&self, state: &State, worker: usize, steps: &mut Vec<(Step, State)>) {
        let Worker::Handles { message, claim, .. } = state.workers[worker] else { return };
        self.verdict(state, worker, Verdict::ack(), steps);
        self.verdict(state, worker, Verdict::nack("not now"), steps);
        self.dies(state, worker, steps);
        let mut next = state.clone();
        if self.arrives(&mut next, self.request(worker, message, claim, Wish::Renew)) {
            steps.push((Step::Renews { worker, message }, next));
        }
        self.excuses(state, worker, steps);
    }

    /// A worker believes that the table was too slow for its lease: it drops the handler and wants the attempt taken back.
    fn excuses(&self, state: &State, worker: usize, steps: &mut Vec<(Step, State)>) {
        let Worker::Handles { message, claim, .. } = state.workers[worker] else { return };
        let mut next = state.clone();
        if next.rows[message].is_excused(self.fault) {
            next.workers[worker] = self.awaits(worker, message, claim, Event::Release);
            steps.push((Step::Excuses { worker, message }, next));
        }
    }

    fn verdict(&self, state: &State, worker: usize, verdict: Verdict, steps: &mut Vec<(Step, State)>) {
        let (Worker::Holds { message, claim, attempt } | Worker::Handles { message, claim, attempt }) =
            state.workers[worker]
        else {
            return;
        };
        let event = event(verdict, attempt);
        let mut next = state.clone();
        next.workers[worker] = self.awaits(worker, message, claim, event);
        steps.push((Step::Decides { worker, message, event }, next));
    }

    fn sends(&self, state: &State, worker: usize, request: Request, steps: &mut Vec<(Step, State)>) {
        let mut next = state.clone();
        let accepted = self.arrives(&mut next, request);
        // Without an answer it will be sent again.
        steps.push((Step::Unanswered { worker, request, accepted }, next.clone()));
        next.workers[worker] = Worker::Idle;
        steps.push((Step::Answered { worker, request, accepted }, next));
        self.dies(state, worker, steps);
        if state.late.len() < self.late {
            let mut next = state.clone();
            next.workers[worker] = Worker::Idle;
            next.late.push(request);
            next.late.sort_by_key(Request::rank);
            steps.push((Step::DiesAfterSending { worker, request }, next));
        }
    }

    fn dies(&self, state: &State, worker: usize, steps: &mut Vec<(Step, State)>) {
        if self.mishaps {
            let mut next = state.clone();
            next.workers[worker] = Worker::Idle;
            steps.push((Step::Dies { worker }, next));
        }
    }

    fn late_arrives(&self, state: &State, n: usize, steps: &mut Vec<(Step, State)>) {
        let request = state.late[n];
        let mut next = state.clone();
        let accepted = self.arrives(&mut next, request);
        steps.push((Step::ArrivesLate { request, accepted, again: true }, next.clone()));
        next.late.remove(n);
        steps.push((Step::ArrivesLate { request, accepted, again: false }, next));
    }

    /// Whether the table takes it.
    fn arrives(&self, state: &mut State, request: Request) -> bool {
        state.rows[request.message].meets(request, self.fault)
    }

    fn awaits(&self, worker: usize, message: usize, claim: u8, event: Event) -> Worker {
        Worker::Awaits(self.request(worker, message, claim, Wish::Settle(event)))
    }

    fn request(&self, worker: usize, message: usize, claim: u8, wish: Wish) -> Request {
        Request { message, claim, instance: self.workers[worker], wish }
    }
}

/// What a verdict does to a message, by the domain's own rule.
fn event(verdict: Verdict, attempt: u8) -> Event {
    let policy = RetryPolicy { max_attempts: u32::from(MAX_ATTEMPTS), ..RetryPolicy::default() };
    decide(verdict, u32::from(attempt), &policy, 0).event()
}

impl State {
    fn has_overtaken_handler(&self) -> bool {
        let overtaken = |worker: &Worker| match *worker {
            Worker::Handles { message, claim, .. } => self.rows[message].newest != Some(claim),
            _ => false,
        };
        self.workers.iter().any(overtaken)
    }

    fn has_overtaken_settlement(&self) -> bool {
        self.late.iter().any(|request| self.rows[request.message].newest != Some(request.claim))
    }

    /// A claim id that no process remembers.
    fn unused_claim(&self, message: usize) -> u8 {
        let used: Vec<u8> = self.claims(message).collect();
        (0..=u8::MAX).find(|id| !used.contains(id)).unwrap_or(u8::MAX)
    }

    /// The claim ids of a message that a process remembers, in a fixed order.
    fn claims(&self, message: usize) -> impl Iterator<Item = u8> {
        let row = &self.rows[message];
        let workers =
            self.workers.iter().filter_map(Worker::claim).chain(self.late.iter().map(Request::claim));
        let held = workers.filter(move |(of, _)| *of == message).map(|(_, claim)| claim);
        row.claim.into_iter().chain(row.newest).chain(held)
    }

    /// Gives claim ids the numbers of their first mention. An id means nothing but that it is the same as another, so
    /// states that differ in their ids only are one state, and there is no end to claims.
    fn renumber_claims(&mut self) {
        for message in 0..self.rows.len() {
            let mut old: Vec<u8> = Vec::new();
            for claim in self.claims(message) {
                if !old.contains(&claim) {
                    old.push(claim);
                }
            }
            let new = |claim: u8| old.iter().position(|id| *id == claim).unwrap_or_default() as u8;
            self.rows[message].renumber(&old, new);
            self.workers.iter_mut().for_each(|worker| worker.renumber(message, new));
            self.late.iter_mut().for_each(|request| request.renumber(message, new));
        }
        self.late.sort_by_key(Request::rank);
    }
}
