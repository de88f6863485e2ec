use std::time::Duration;

use claimstream_domain::Reason;

use super::SagaOutcome;

/// What came of a call that runs a saga.
pub(super) enum Entered {
    /// It was run.
    Ran(SagaOutcome),
    /// Nothing was done, because another runner holds it: for at most this time, if that one has died.
    Busy(Duration),
}

impl Entered {
    /// As a caller sees it.
    pub(super) fn outcome(self) -> SagaOutcome {
        match self {
            Self::Ran(outcome) => outcome,
            Self::Busy(_) => SagaOutcome::Underway { reason: Self::busy() },
        }
    }

    /// Why nothing was done.
    pub(super) fn busy() -> Reason {
        Reason::new("another runner holds the saga")
    }
}
