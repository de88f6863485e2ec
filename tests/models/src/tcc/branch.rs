use super::{Answer, Fault, Operation};

/// A participant: its marker, its resource, and the transactions that it has open.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Branch {
    /// The ledger's step of this branch.
    pub marker: Option<Marker>,
    /// What can be reserved.
    pub(super) available: i8,
    /// What is held by a Try.
    pub(super) reserved: i8,
    /// What was used by a Confirm.
    pub(super) used: i8,
    /// The transactions that have begun.
    pub(super) open: [Option<Open>; 2],
    /// Past: it has told that it was cancelled, and has accepted a Try since.
    pub(super) hangs: bool,
}

/// The states of a branch, as the ledger keeps them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Marker {
    /// The resource is held.
    Tried,
    /// It was used.
    Confirmed,
    /// It was given back.
    Cancelled,
    /// There was nothing to give back, and there will not be.
    EmptyRollback,
}

/// A local transaction that has begun and may stand still before it commits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Open {
    /// What it was asked for.
    pub operation: Operation,
    /// The marker that it has read before it had the row, by which only a fault decides.
    saw: Option<Marker>,
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

    /// Commits what was begun; `told` says that a cancel was answered before. Answers what the caller is told, if
    /// anything.
    pub(super) fn commit(&mut self, open: Open, told: bool, fault: Option<Fault>) -> Option<Answer> {
        // The insert decides, or the lock on the row that is there: what counts is what the table holds by now.
        let found = if fault == Some(Fault::ReadThenInsert) { open.saw } else { self.marker };
        match open.operation {
            Operation::Try => self.try_(found, told, fault),
            Operation::Confirm => self.confirm(found),
            Operation::Cancel => self.cancel(found, fault),
        }
    }

    fn try_(&mut self, found: Option<Marker>, told: bool, fault: Option<Fault>) -> Option<Answer> {
        match found {
            None => {
                self.marker = Some(Marker::Tried);
                self.available -= 1;
                self.reserved += 1;
                self.hangs |= told;
                Some(Answer::Tried)
            }
            Some(Marker::Tried | Marker::Confirmed) => Some(Answer::Tried),
            Some(Marker::EmptyRollback) if fault == Some(Fault::MarkerIsTakenAway) => {
                self.marker = None;
                Some(Answer::Refused)
            }
            Some(Marker::Cancelled | Marker::EmptyRollback) => Some(Answer::Refused),
        }
    }

    fn confirm(&mut self, found: Option<Marker>) -> Option<Answer> {
        match found {
            Some(Marker::Tried) => {
                self.marker = Some(Marker::Confirmed);
                self.reserved -= 1;
                self.used += 1;
                Some(Answer::Confirmed)
            }
            Some(Marker::Confirmed) => Some(Answer::Confirmed),
            Some(Marker::Cancelled | Marker::EmptyRollback) | None => None,
        }
    }

    fn cancel(&mut self, found: Option<Marker>, fault: Option<Fault>) -> Option<Answer> {
        match found {
            None if fault == Some(Fault::EmptyCancelLeavesNoMarker) => Some(Answer::Cancelled),
            None => {
                self.marker = Some(Marker::EmptyRollback);
                Some(Answer::Cancelled)
            }
            Some(_) if fault == Some(Fault::CancelReleasesUnchecked) => self.release(),
            Some(Marker::Tried) => self.release(),
            Some(Marker::Cancelled | Marker::EmptyRollback) => Some(Answer::Cancelled),
            Some(Marker::Confirmed) => None,
        }
    }

    fn release(&mut self) -> Option<Answer> {
        self.marker = Some(Marker::Cancelled);
        self.reserved -= 1;
        self.available += 1;
        Some(Answer::Cancelled)
    }

    /// Nothing was made and nothing was lost.
    pub(super) fn is_conserved(&self) -> bool {
        let parts = [self.available, self.reserved, self.used];
        parts.iter().all(|part| *part >= 0) && parts.iter().sum::<i8>() == STOCK
    }

    /// Something is held exactly while the marker says so, and used exactly if it says so.
    pub(super) fn agrees(&self) -> bool {
        let held = i8::from(self.marker == Some(Marker::Tried));
        let used = i8::from(self.marker == Some(Marker::Confirmed));
        (self.reserved, self.used) == (held, used)
    }

    pub(super) fn is_undone(&self) -> bool {
        matches!(self.marker, Some(Marker::Cancelled | Marker::EmptyRollback))
    }
}

impl Marker {
    /// What it may become.
    pub(super) fn may_become(self, next: Option<Self>) -> bool {
        match self {
            Self::Tried => matches!(next, Some(Self::Tried | Self::Confirmed | Self::Cancelled)),
            _ => next == Some(self),
        }
    }
}
