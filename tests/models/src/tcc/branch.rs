use claimstream_domain::tcc::{BranchMove, BranchRefusal, BranchState, Operation};

use super::{Answer, Fault};

/// A participant: its marker, its resource, and the transactions that it has open.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Branch {
    /// The ledger's step of this branch.
    pub marker: Option<BranchState>,
    /// What can be reserved.
    available: i8,
    /// What is held by a Try.
    pub(super) reserved: i8,
    /// What was used by a Confirm.
    used: i8,
    /// The transactions that have begun.
    pub(super) open: [Option<Open>; 2],
    /// Past: it has answered that it was cancelled, and has accepted a Try since.
    pub(super) hangs: bool,
}

/// A local transaction that has begun and may stand still before it commits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Open {
    /// What it was asked for.
    pub operation: Operation,
    /// The marker that it has read before it had the row, by which only a fault decides.
    saw: Option<BranchState>,
}

/// What a branch has of its resource in the beginning.
const STOCK: i8 = 1;

impl Branch {
    pub(super) fn new() -> Self {
        Self { marker: None, available: STOCK, reserved: 0, used: 0, open: [None; 2], hangs: false }
    }

    pub(super) fn begin(&mut self, operation: Operation, slot: usize, fault: Option<Fault>) {
        let saw = if fault == Some(Fault::ReadThenInsert) { self.marker } else { None };
        self.open[slot] = Some(Open { operation, saw });
    }

    /// Commits what was begun; `answered` says that a cancel was answered before. Returns the answer that the caller gets; an error
    /// is no answer.
    pub(super) fn commit(&mut self, open: Open, answered: bool, fault: Option<Fault>) -> Option<Answer> {
        // The insert decides, or the lock on the row that is there: what counts is what the table holds by now.
        let found = if fault == Some(Fault::ReadThenInsert) { open.saw } else { self.marker };
        match rule(found, open.operation, fault) {
            Ok(change) => {
                self.carry_out(change, answered);
                Some(Answer::to(open.operation))
            }
            Err(BranchRefusal::LateTry) => {
                if fault == Some(Fault::MarkerIsTakenAway) && found == Some(BranchState::EmptyRollback) {
                    self.marker = None;
                }
                Some(Answer::Refused)
            }
            Err(_) => None,
        }
    }

    fn carry_out(&mut self, change: BranchMove, answered: bool) {
        let (BranchMove::Insert(state) | BranchMove::Move(state)) = change else { return };
        self.marker = Some(state);
        let (available, reserved, used) = match state {
            BranchState::Tried => (-1, 1, 0),
            BranchState::Confirmed => (0, -1, 1),
            BranchState::Cancelled => (1, -1, 0),
            BranchState::EmptyRollback => (0, 0, 0),
        };
        self.available += available;
        self.reserved += reserved;
        self.used += used;
        self.hangs |= answered && state == BranchState::Tried;
    }

    /// Nothing was made and nothing was lost.
    pub(super) fn is_conserved(&self) -> bool {
        let parts = [self.available, self.reserved, self.used];
        parts.iter().all(|part| *part >= 0) && parts.iter().sum::<i8>() == STOCK
    }

    /// Something is held exactly while the marker says so, and used if and only if it says so.
    pub(super) fn agrees(&self) -> bool {
        let held = i8::from(self.marker == Some(BranchState::Tried));
        let used = i8::from(self.marker == Some(BranchState::Confirmed));
        (self.reserved, self.used) == (held, used)
    }

    pub(super) fn is_undone(&self) -> bool {
        matches!(self.marker, Some(BranchState::Cancelled | BranchState::EmptyRollback))
    }
}

/// The domain's table, unless a fault has another.
fn rule(
    found: Option<BranchState>,
    operation: Operation,
    fault: Option<Fault>,
) -> Result<BranchMove, BranchRefusal> {
    match (found, operation, fault) {
        (None, Operation::Cancel, Some(Fault::EmptyCancelLeavesNoMarker)) => Ok(BranchMove::Repeated),
        (Some(_), Operation::Cancel, Some(Fault::CancelReleasesUnchecked)) => {
            Ok(BranchMove::Move(BranchState::Cancelled))
        }
        _ => BranchState::after(found, operation),
    }
}
