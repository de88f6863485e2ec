use std::fmt;

use claimstream_domain::Reason;
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::effect::BrokenStep;
use claimstream::TransactionError;

/// Why a step was not taken, which decides what becomes of the saga.
#[derive(Debug, thiserror::Error)]
pub enum StepFailure {
    /// It cannot be, for a reason that people understand, such as a balance that is too small: the saga is rolled back.
    #[error("{0}")]
    Business(Reason),
    /// Not now: the saga stays as it is and is tried again, after growing waits, for ever.
    #[error("{0}")]
    Transient(Reason),
    /// Something is as it must never be: an alarm is raised, nothing is written, and an operator has to look.
    #[error("{0}")]
    Invariant(Reason),
    /// The store failed: corrupt data is an alarm, anything else is tried again. A table or a right
    /// that is missing comes back, and the saga goes on then.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a failure comes to.
#[derive(Debug)]
pub(super) enum Halt {
    Business(Reason),
    Transient(Reason),
    Invariant(Reason),
}

impl StepFailure {
    /// A refusal for a business reason, such as a balance that is too small: the saga is rolled back.
    pub fn business(why: impl fmt::Display) -> Self {
        Self::Business(Reason::new(why))
    }

    /// A failure that passes: the step is tried again later, after growing waits.
    pub fn transient(why: impl fmt::Display) -> Self {
        Self::Transient(Reason::new(why))
    }

    /// A state that must never occur: an alarm is raised, and a person has to look.
    pub fn invariant(why: impl fmt::Display) -> Self {
        Self::Invariant(Reason::new(why))
    }
}

impl From<BrokenStep> for StepFailure {
    fn from(broken: BrokenStep) -> Self {
        Self::invariant(broken)
    }
}

impl TransactionError for StepFailure {
    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<StepFailure> for Halt {
    fn from(failure: StepFailure) -> Self {
        match failure {
            StepFailure::Business(why) => Self::Business(why),
            StepFailure::Transient(why) => Self::Transient(why),
            StepFailure::Invariant(why) => Self::Invariant(why),
            StepFailure::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        match error.kind() {
            StoreErrorKind::Transient
            | StoreErrorKind::Unavailable
            | StoreErrorKind::Misconfigured
            | StoreErrorKind::Unsupported => Self::Transient(Reason::new(error)),
            StoreErrorKind::Corrupt | StoreErrorKind::Conflict => Self::Invariant(Reason::new(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wrong_with_the_values_is_an_alarm_at_once() {
        for kind in StoreErrorKind::ALL {
            let halt = Halt::from(StepFailure::from(StoreError::new(kind, "debit", "as asked")));
            let is_alarm = matches!(kind, StoreErrorKind::Corrupt | StoreErrorKind::Conflict);
            assert_eq!(matches!(halt, Halt::Invariant(_)), is_alarm, "{kind}: {halt:?}");
            assert_eq!(matches!(halt, Halt::Transient(_)), !is_alarm, "{kind}: {halt:?}");
        }
        assert!(StepFailure::business("too small").store_error().is_none());
    }
}
