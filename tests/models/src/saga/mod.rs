//! Sagas: points and balance go from one person to another, in four steps with a pivot in the middle.
//!
//! There is no lock: a lock may lapse at any moment, so any runner that has a message may run. Runners die and stand still
//! between any two transactions, know only what they have read, and may not hear that a transaction was committed. The
//! check message may come before the first step, and comes until it is acknowledged. The payer has too little balance,
//! and may be topped up at any moment; the payee may spend what has arrived.

mod books;
mod fault;
mod runner;
mod step;

use claimstream_domain::saga::{SagaEntry, SagaNext, SagaPlan, SagaState, SagaStepState, SagaView, Unbegun};

use crate::{Promise, Protocol};
pub use books::Books;
pub use fault::Fault;
pub use runner::Runner;
pub use step::Step;

/// One saga.
#[derive(Clone, Copy, Debug)]
pub struct Saga {
    /// What is wrong with it; nothing in ours.
    pub fault: Option<Fault>,
    /// How many run it at a time.
    pub runners: usize,
    /// What becomes of it if a check finds no step.
    pub unbegun: Unbegun,
    /// Whether an order may call it off at any moment.
    pub order: bool,
}

/// How many steps it has.
pub(crate) const STEPS: usize = 4;
/// How many of them may be undone.
const PIVOT: usize = 2;

/// Where everybody stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// The accounts.
    pub books: Books,
    /// The saga's row, with its version.
    pub row: Option<(SagaState, u8)>,
    /// The rows of the steps, each in the database of its account.
    pub steps: [Option<SagaStepState>; STEPS],
    /// Who is in the middle of it.
    pub runners: Vec<Option<Runner>>,
    /// Whether it has been started.
    started: bool,
    /// Whether the check message is still there.
    check: bool,
    /// Whether the order is still there.
    order: bool,
    /// Past: which steps were undone, be there a row for it or not.
    undone: [bool; STEPS],
    /// Past: a step was taken after it had been undone.
    late: bool,
    /// Past: a runner reported a state that the protocol excludes.
    reported: bool,
}

impl Protocol for Saga {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        State {
            books: Books::opened(),
            row: None,
            steps: [None; STEPS],
            runners: vec![None; self.runners],
            started: false,
            check: true,
            order: self.order,
            undone: [false; STEPS],
            late: false,
            reported: false,
        }
    }

    fn steps(&self, state: &State) -> Vec<(Step, State)> {
        let mut steps = Vec::new();
        self.world(state, &mut steps);
        if let Some(runner) = state.runners.iter().position(Option::is_none) {
            self.enters(state, runner, &mut steps);
        }
        for (n, runner) in state.runners.iter().enumerate() {
            if let Some(runner) = runner {
                let (step, next) = self.acts(state.clone(), n, runner.clone());
                let mut gone = state.clone();
                gone.runners[n] = None;
                steps.push((Step::Dies { runner: n }, gone));
                let mut unanswered = next.clone();
                unanswered.runners[n] = Some(runner.clone());
                steps.push((step.clone(), next));
                steps.push((Step::Unanswered(Box::new(step)), unanswered));
            }
        }
        steps
    }

    fn promises(&self) -> Vec<Promise<State>> {
        vec![
            Promise::always("sums_are_constant_when_a_saga_is_over", |s| !s.is_over() || s.books.balance()),
            Promise::always("no_account_goes_below_zero", |s| s.books.are_above_water()),
            Promise::always("no_step_is_taken_after_its_rollback", |s| !s.late),
            Promise::always("no_credit_stands_in_a_saga_that_is_called_off", |s| {
                let called_off = matches!(s.row, Some((SagaState::ToRollback | SagaState::Fail, _)));
                !called_off || s.steps[PIVOT..].iter().all(|step| *step != Some(SagaStepState::Done))
            }),
            Promise::always("the_steps_agree_with_the_saga", State::agrees),
            Promise::always("no_runner_reports_a_bug", |s| !s.reported),
            Promise::every_step("one_way_wins", |from, to| match (from.row, to.row) {
                (Some((from, _)), Some((to, _))) => from == to || from.may_become(to),
                (from, to) => from.is_none() || to.is_some(),
            }),
            Promise::still_possible("every_saga_can_still_end", |s| s.is_over() && !s.check && !s.order),
            Promise::happens("one_finishes", |s| s.is(SagaState::Finish)),
            Promise::happens("one_fails", |s| s.is(SagaState::Fail)),
            Promise::happens("a_balance_is_short_in_a_saga_that_finishes", |s| {
                s.is(SagaState::Finish) && s.runners.iter().flatten().any(|runner| runner.short)
            }),
        ]
    }
}

impl Saga {
    fn plan(&self) -> SagaPlan {
        let pivot = if self.fault == Some(Fault::NoPivot) { STEPS } else { PIVOT };
        SagaPlan::new(STEPS, pivot).expect("a plan")
    }

    fn world(&self, state: &State, steps: &mut Vec<(Step, State)>) {
        let mut next = state.clone();
        if next.books.top_up() {
            steps.push((Step::TopsUp, next));
        }
        let mut next = state.clone();
        if next.books.spend() {
            steps.push((Step::Spends, next));
        }
    }

    fn enters(&self, state: &State, runner: usize, steps: &mut Vec<(Step, State)>) {
        let entries = [
            (SagaEntry::Start, !state.started),
            (SagaEntry::Check, state.check),
            (SagaEntry::RollBack, state.order),
        ];
        for (entry, _) in entries.into_iter().filter(|(_, possible)| *possible) {
            let mut next = state.clone();
            next.runners[runner] = Some(Runner::new(entry, state.row, self.known(state, entry)));
            next.started |= entry == SagaEntry::Start;
            if self.fault == Some(Fault::AcknowledgedOnDelivery) && entry == SagaEntry::Check {
                next.check = false;
            }
            steps.push((Step::Enters { runner, entry }, next));
        }
    }

    /// What a runner knows of the steps when it begins: nothing, unless it depends on it whether there is one.
    fn known(&self, state: &State, entry: SagaEntry) -> [Option<SagaStepState>; STEPS] {
        match (self.unbegun, entry) {
            (Unbegun::CallOff, SagaEntry::Check) => state.steps,
            _ => [None; STEPS],
        }
    }

    /// The one transaction that a runner makes next, by the domain's own rule.
    fn acts(&self, mut state: State, n: usize, mut runner: Runner) -> (Step, State) {
        let view = SagaView { saga: runner.row.map(|(row, _)| row), steps: &runner.steps };
        let step = match self.plan().next(runner.entry, self.unbegun, view) {
            _ if runner.short => {
                runner.short = false;
                self.moves(&mut state, n, &mut runner, SagaState::ToRollback)
            }
            SagaNext::Begin(row) => {
                runner.row = Some(*state.row.get_or_insert((row, 1)));
                Step::Begins { runner: n, state: row }
            }
            SagaNext::Move(_, to) => self.moves(&mut state, n, &mut runner, to),
            SagaNext::Forward(step) => self.forward(&mut state, n, &mut runner, step),
            SagaNext::Undo(step) => self.undo(&mut state, n, &mut runner, step),
            SagaNext::Over | SagaNext::TooLate => {
                state.acknowledge(runner.entry);
                state.runners[n] = None;
                return (Step::Leaves { runner: n }, state);
            }
            SagaNext::Broken(_) => return reports(state, n),
        };
        if let Step::Finds { step, state: SagaStepState::Done, .. } = step
            && self.fault == Some(Fault::CreditIsNotRecognised)
            && step >= PIVOT
        {
            return reports(state, n);
        }
        state.runners[n] = Some(runner);
        (step, state)
    }

    /// Compare-and-set: the row moves if it is as the runner has seen it.
    fn moves(&self, state: &mut State, n: usize, runner: &mut Runner, to: SagaState) -> Step {
        let as_seen = state.row == runner.row || self.fault == Some(Fault::NoVersion);
        if as_seen {
            // Three moves lead to an end; only a fault makes more.
            state.row = state.row.map(|(_, version)| (to, (version + 1).min(4)));
        }
        runner.row = state.row;
        if as_seen { Step::Moves { runner: n, to } } else { Step::Misses { runner: n } }
    }

    /// The step's row is inserted first; if one is there, nothing is done.
    fn forward(&self, state: &mut State, n: usize, runner: &mut Runner, step: usize) -> Step {
        if let Some(found) = state.steps[step].filter(|_| self.fault != Some(Fault::NoUniqueKey)) {
            runner.steps[step] = Some(found);
            return Step::Finds { runner: n, step, state: found };
        }
        if !state.books.suffice(step) {
            runner.short = true;
            return Step::FindsTooLittle { runner: n, step };
        }
        state.books.book(step);
        state.late |= state.undone[step];
        state.steps[step] = Some(SagaStepState::Done);
        runner.steps[step] = Some(SagaStepState::Done);
        Step::Takes { runner: n, step }
    }

    /// A tombstone is inserted first; if a row is there, it is moved.
    fn undo(&self, state: &mut State, n: usize, runner: &mut Runner, step: usize) -> Step {
        runner.steps[step] = Some(SagaStepState::RolledBack);
        match state.steps[step] {
            None => {
                state.undone[step] = true;
                if self.fault != Some(Fault::NoTombstone) {
                    state.steps[step] = Some(SagaStepState::RolledBack);
                }
                Step::Marks { runner: n, step }
            }
            Some(SagaStepState::Done) if self.plan().is_reversible(step) => {
                state.undone[step] = true;
                state.books.take_back(step);
                state.steps[step] = Some(SagaStepState::RolledBack);
                Step::Undoes { runner: n, step }
            }
            Some(found) => {
                runner.steps[step] = Some(found);
                Step::Finds { runner: n, step, state: found }
            }
        }
    }
}

fn reports(mut state: State, runner: usize) -> (Step, State) {
    state.reported = true;
    state.runners[runner] = None;
    (Step::Reports { runner }, state)
}

impl State {
    fn is(&self, saga: SagaState) -> bool {
        self.row.is_some_and(|(row, _)| row == saga)
    }

    fn is_over(&self) -> bool {
        self.row.is_some_and(|(row, _)| row.is_over())
    }

    /// A runner that has seen the end acknowledges its message.
    fn acknowledge(&mut self, entry: SagaEntry) {
        match entry {
            SagaEntry::Start => {}
            SagaEntry::Check => self.check = false,
            SagaEntry::RollBack => self.order = false,
        }
    }

    fn agrees(&self) -> bool {
        let all = |state| self.steps.iter().all(|step| *step == Some(state));
        match self.row {
            Some((SagaState::Finish, _)) => all(SagaStepState::Done),
            Some((SagaState::Fail, _)) => all(SagaStepState::RolledBack),
            _ => true,
        }
    }
}
