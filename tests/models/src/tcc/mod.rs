//! TCC: a coordinator, a participant for each branch, and a network between them.
//!
//! What was sent may arrive at any later time, any number of times, or never; so may answers. A participant works on two
//! requests of a branch at a time and may die or stand still before it commits. The coordinator may die or stand still at
//! any point; then its check message cancels at the deadline, which may come at any time.

mod branch;
mod fault;
mod step;

use crate::{Promise, Protocol};
pub use branch::{Branch, Marker, Open};
pub use fault::Fault;
pub use step::{Answer, Operation, Step};

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
    pub decision: Decision,
    /// Whether the coordinator has put the transaction away.
    pub ended: bool,
    /// The participants.
    pub branches: [Branch; BRANCHES],
    sent: [[bool; 3]; BRANCHES],
    told: [[bool; 5]; BRANCHES],
}

/// How many branches there are.
const BRANCHES: usize = 2;

/// What the coordinator has decided, in a row of its own database.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Decision {
    /// Nothing yet.
    Open,
    /// All branches are to be confirmed.
    Confirm,
    /// All branches are to be cancelled.
    Cancel,
}

impl Protocol for Tcc {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        State {
            decision: Decision::Open,
            ended: false,
            branches: [(); BRANCHES].map(|()| Branch::new()),
            sent: [[false; 3]; BRANCHES],
            told: [[false; 5]; BRANCHES],
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
                !s.ended || s.branches.iter().all(|b| b.reserved == 0)
            }),
            Promise::always("the_resource_is_conserved", |s| s.branches.iter().all(Branch::is_conserved)),
            Promise::always("what_is_held_agrees_with_the_marker", |s| s.branches.iter().all(Branch::agrees)),
            Promise::always("all_branches_or_none", |s| {
                let confirmed = |b: &Branch| b.marker == Some(Marker::Confirmed);
                !(s.branches.iter().any(confirmed) && s.branches.iter().any(Branch::is_undone))
            }),
            Promise::every_step("a_marker_only_moves_forward", |from, to| {
                let mut pairs = from.branches.iter().zip(&to.branches);
                pairs.all(|(from, to)| from.marker.is_none_or(|marker| marker.may_become(to.marker)))
            }),
            Promise::still_possible("every_transaction_can_still_end", |s| s.ended),
            Promise::happens("one_is_confirmed", |s| s.ended && s.decision == Decision::Confirm),
            Promise::happens("one_is_cancelled_after_its_try", |s| s.ended && s.has(Marker::Cancelled)),
            Promise::happens("one_is_cancelled_before_its_try", |s| s.ended && s.has(Marker::EmptyRollback)),
            Promise::happens("a_late_try_is_refused", |s| s.told[0][Answer::Refused as usize]),
        ]
    }
}

impl Tcc {
    fn coordinator(&self, state: &State, steps: &mut Vec<(Step, State)>) {
        if state.ended {
            return;
        }
        let (operation, answer) = match state.decision {
            Decision::Open => (Operation::Try, Answer::Tried),
            Decision::Confirm => (Operation::Confirm, Answer::Confirmed),
            Decision::Cancel => (Operation::Cancel, Answer::Cancelled),
        };
        for branch in 0..BRANCHES {
            if !state.sent[branch][operation as usize] {
                let mut next = state.clone();
                next.sent[branch][operation as usize] = true;
                steps.push((Step::Sends { operation, branch }, next));
            }
        }
        let open = state.decision == Decision::Open;
        // Both are compare-and-set on the coordinator's row; who comes second changes nothing.
        if (open || self.fault == Some(Fault::DecisionIsOverwritten)) && state.all_told(Answer::Tried) {
            steps.push((Step::DecidesToConfirm, State { decision: Decision::Confirm, ..state.clone() }));
        }
        if open {
            steps.push((Step::DecidesToCancel, State { decision: Decision::Cancel, ..state.clone() }));
        } else if state.all_told(answer) {
            steps.push((Step::Ends, State { ended: true, ..state.clone() }));
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
                next.told[branch][Answer::Declined as usize] = true;
                steps.push((Step::Declines { branch }, next));
            }
            let told = state.told[branch][Answer::Cancelled as usize];
            let mut next = gone.clone();
            let answer = next.branches[branch].commit(open, told, self.fault);
            if let Some(answer) = answer {
                next.told[branch][answer as usize] = true;
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

impl State {
    fn all_told(&self, answer: Answer) -> bool {
        self.told.iter().all(|told| told[answer as usize])
    }

    fn has(&self, marker: Marker) -> bool {
        self.branches.iter().any(|branch| branch.marker == Some(marker))
    }
}
