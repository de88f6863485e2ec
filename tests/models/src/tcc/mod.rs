//! TCC: a coordinator, a participant for each branch, and a network between them.
//!
//! What was sent may arrive at any later time, any number of times, or never; so may answers. A participant works on two
//! requests of a branch at a time and may die or stand still before it commits. The coordinator may die or stand still at
//! any point; then its check message cancels at the deadline, which may come at any time.

mod branch;
mod fault;
mod step;

use claimstream_domain::tcc::{
    BranchState, GlobalAction, GlobalEvent, GlobalState, GlobalTrigger, Operation,
};

use crate::{Promise, Protocol};
pub use branch::{Branch, Open};
pub use fault::Fault;
pub use step::{Answer, Step};

/// One transaction over two branches.
#[derive(Clone, Copy, Debug)]
pub struct Tcc {
    /// What is wrong with it; nothing in ours.
    pub fault: Option<Fault>,
}

/// Where everybody stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// The coordinator's row.
    pub global: GlobalState,
    /// The participants.
    pub branches: [Branch; BRANCHES],
    sent: [[bool; 3]; BRANCHES],
    answered: [[bool; 5]; BRANCHES],
}

/// How many branches there are.
const BRANCHES: usize = 2;

impl Protocol for Tcc {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        State {
            global: GlobalState::Trying,
            branches: [(); BRANCHES].map(|()| Branch::new()),
            sent: [[false; 3]; BRANCHES],
            answered: [[false; 5]; BRANCHES],
        }
    }

    fn steps(&self, state: &State) -> Vec<(Step, State)> {
        let mut steps = Vec::new();
        self.coordinator(state, &mut steps);
        for branch in 0..BRANCHES {
            self.arrivals(state, branch, &mut steps);
            self.participant(state, branch, &mut steps);
        }
        steps
    }

    fn promises(&self) -> Vec<Promise<State>> {
        vec![
            Promise::always("no_try_is_accepted_after_its_cancel", |s| s.branches.iter().all(|b| !b.hangs)),
            Promise::always("an_ended_transaction_holds_nothing", |s| {
                !s.global.is_final() || s.branches.iter().all(|b| b.reserved == 0)
            }),
            Promise::always("the_resource_is_conserved", |s| s.branches.iter().all(Branch::is_conserved)),
            Promise::always("what_is_held_agrees_with_the_marker", |s| s.branches.iter().all(Branch::agrees)),
            Promise::always("all_branches_or_none", |s| {
                let confirmed = |b: &Branch| b.marker == Some(BranchState::Confirmed);
                !(s.branches.iter().any(confirmed) && s.branches.iter().any(Branch::is_undone))
            }),
            Promise::every_step("a_marker_only_moves_forward", |from, to| {
                let mut pairs = from.branches.iter().zip(&to.branches);
                pairs.all(|(from, to)| from.marker.is_none_or(|state| leads_to(state, to.marker)))
            }),
            Promise::still_possible("every_transaction_can_still_end", |s| s.global.is_final()),
            Promise::happens("one_is_confirmed", |s| s.global == GlobalState::Confirmed),
            Promise::happens("one_is_cancelled_after_its_try", |s| s.has_ended_with(BranchState::Cancelled)),
            Promise::happens("one_is_cancelled_before_its_try", |s| {
                s.has_ended_with(BranchState::EmptyRollback)
            }),
            Promise::happens("a_late_try_is_refused", |s| s.answered[0][Answer::Refused as usize]),
        ]
    }
}

impl Tcc {
    /// The coordinator does what the domain says comes next, and notes what has come about.
    fn coordinator(&self, state: &State, steps: &mut Vec<(Step, State)>) {
        match state.global.next_action(GlobalTrigger::Drive) {
            GlobalAction::TryAll => sends(state, Operation::Try, steps),
            GlobalAction::ConfirmAll => sends(state, Operation::Confirm, steps),
            GlobalAction::CancelAll => sends(state, Operation::Cancel, steps),
            GlobalAction::Note(_) | GlobalAction::Nothing => {}
        }
        if let GlobalAction::Note(event) = state.global.next_action(GlobalTrigger::Check) {
            self.notes(state, event, steps);
        }
        if state.any_answered(Answer::Declined) || state.any_answered(Answer::Refused) {
            self.notes(state, GlobalEvent::TryFailed, steps);
        }
        let all = [
            (Answer::Tried, GlobalEvent::AllTried),
            (Answer::Confirmed, GlobalEvent::AllConfirmed),
            (Answer::Cancelled, GlobalEvent::AllCancelled),
        ];
        for (_, event) in all.into_iter().filter(|(answer, _)| state.all_answered(*answer)) {
            self.notes(state, event, steps);
        }
    }

    /// Compare-and-set on the coordinator's row: what comes too late changes nothing.
    fn notes(&self, state: &State, event: GlobalEvent, steps: &mut Vec<(Step, State)>) {
        let overwrites = self.fault == Some(Fault::DecisionIsOverwritten) && event == GlobalEvent::AllTried;
        let row = if overwrites { GlobalState::Trying } else { state.global };
        if let Some(global) = row.next(event) {
            steps.push((Step::Notes { event }, State { global, ..state.clone() }));
        }
    }

    /// Whatever was sent arrives, if the participant has a hand free.
    fn arrivals(&self, state: &State, branch: usize, steps: &mut Vec<(Step, State)>) {
        let Some(slot) = state.branches[branch].open.iter().position(Option::is_none) else { return };
        for operation in Operation::ALL {
            if state.sent[branch][operation as usize] {
                let mut next = state.clone();
                next.branches[branch].begin(operation, slot, self.fault);
                steps.push((Step::Begins { operation, branch }, next));
            }
        }
    }

    fn participant(&self, state: &State, branch: usize, steps: &mut Vec<(Step, State)>) {
        for slot in 0..state.branches[branch].open.len() {
            let Some(open) = state.branches[branch].open[slot] else { continue };
            let operation = open.operation;
            let mut gone = state.clone();
            gone.branches[branch].open[slot] = None;
            if operation == Operation::Try && gone.branches[branch].marker.is_none() {
                let mut next = gone.clone();
                next.answered[branch][Answer::Declined as usize] = true;
                steps.push((Step::Declines { branch }, next));
            }
            let answered = state.answered[branch][Answer::Cancelled as usize];
            let mut next = gone.clone();
            let answer = next.branches[branch].commit(open, answered, self.fault);
            if let Some(answer) = answer {
                next.answered[branch][answer as usize] = true;
            }
            steps.push((Step::Commits { operation, branch, answer }, next));
            steps.push((Step::Dies { operation, branch }, gone));
        }
        if self.fault == Some(Fault::PurgedTooEarly) && state.branches[branch].is_undone() {
            let mut next = state.clone();
            next.branches[branch].marker = None;
            steps.push((Step::Purges { branch }, next));
        }
    }
}

fn sends(state: &State, operation: Operation, steps: &mut Vec<(Step, State)>) {
    for branch in 0..BRANCHES {
        if !state.sent[branch][operation as usize] {
            let mut next = state.clone();
            next.sent[branch][operation as usize] = true;
            steps.push((Step::Sends { operation, branch }, next));
        }
    }
}

/// Whether one operation can lead there, or none.
fn leads_to(from: BranchState, to: Option<BranchState>) -> bool {
    to == Some(from)
        || (from == BranchState::Tried && matches!(to, Some(BranchState::Confirmed | BranchState::Cancelled)))
}

impl State {
    fn any_answered(&self, answer: Answer) -> bool {
        self.answered.iter().any(|answered| answered[answer as usize])
    }

    fn all_answered(&self, answer: Answer) -> bool {
        self.answered.iter().all(|answered| answered[answer as usize])
    }

    fn has_ended_with(&self, marker: BranchState) -> bool {
        self.global.is_final() && self.branches.iter().any(|branch| branch.marker == Some(marker))
    }
}
