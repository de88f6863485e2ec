use std::fmt;

use claimstream_domain::Reason;
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::TransactionError;

/// Why a step was not taken, which decides what becomes of the saga.
#[derive(Debug, thiserror::Error)]
pub enum StepFailure {
    /// It cannot be, for a reason that people understand, such as a balance that is too small: the saga is rolled back.
    #[error("{0}")]
    Business(Reason),
    /// Not now: the saga stays as it is and is tried again, after growing waits, for ever.
    #[error("{0}")]
    Transient(Reason),
    /// Something is as it must never be: an alarm is raised, nothing is written, and somebody has to look.
    #[error("{0}")]
    Invariant(Reason),
    /// The store could not; what passes by itself is tried again, anything else is an alarm.
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
    /// It cannot be: the saga is rolled back.
    pub fn business(why: impl fmt::Display) -> Self {
        Self::Business(Reason::new(why))
    }

    /// Not now: the step is tried again later.
    pub fn transient(why: impl fmt::Display) -> Self {
        Self::Transient(Reason::new(why))
    }

    /// It must never be: somebody has to look.
    pub fn invariant(why: impl fmt::Display) -> Self {
        Self::Invariant(Reason::new(why))
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
            StoreErrorKind::Transient | StoreErrorKind::Unavailable => Self::Transient(Reason::new(error)),
            StoreErrorKind::Misconfigured
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Corrupt
            | StoreErrorKind::Conflict => Self::Invariant(Reason::new(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_by_itself_is_tried_again_and_the_rest_is_an_alarm() {
        let of = |kind| Halt::from(StepFailure::from(StoreError::new(kind, "debit", "told to")));
        assert!(matches!(of(StoreErrorKind::Transient), Halt::Transient(_)));
        assert!(matches!(of(StoreErrorKind::Unavailable), Halt::Transient(_)));
        assert!(matches!(of(StoreErrorKind::Corrupt), Halt::Invariant(_)));
        assert!(matches!(of(StoreErrorKind::Conflict), Halt::Invariant(_)));
        assert!(StepFailure::business("too small").store_error().is_none());
    }
}
