use claimstream_domain::{Invalid, Reason, saga::SagaId};
use claimstream_ports::StoreError;

use crate::inbox::StepError;
use claimstream::TransactionError;

/// Why a saga could not be begun, continued or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SagaError {
    /// The request cannot be a saga.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// There is a saga with this id, and it is about something else.
    #[error(
        "saga {0} was asked for before, by another owner or with another input; look at it before you begin another one"
    )]
    Taken(SagaId),
    /// There is no saga with this id.
    #[error("there is no saga {0}")]
    Unknown(SagaId),
    /// Its steps have been forgotten, as they are long after its end; its id is used for good.
    #[error(
        "saga {0} ended long ago and its steps have been forgotten; it cannot continue, and its id is used"
    )]
    Forgotten(SagaId),
    /// Something is as it must never be; an alarm has been raised, and nothing was written.
    #[error("saga {saga} is broken and was left as it is: {reason}")]
    Broken {
        /// The saga.
        saga: SagaId,
        /// The reason why it is refused.
        reason: Reason,
    },
    /// The store failed. The saga may have been noted, so ask again with the same id.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TransactionError for SagaError {
    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

/// For an effect of an inbox that asks for a saga. What the store says is no verdict on the message; anything else never passes, and the
/// message is given up.
impl From<SagaError> for StepError {
    fn from(error: SagaError) -> Self {
        match error {
            SagaError::Store(error) => error.into(),
            never => Self::bury(never),
        }
    }
}

#[cfg(test)]
mod tests {
    use claimstream_ports::StoreErrorKind;

    use super::*;

    #[test]
    fn an_effect_meets_the_stores_errors_as_such_and_gives_up_at_any_other() {
        let deadlock = StoreError::new(StoreErrorKind::Transient, "submit", "deadlock found");
        assert!(StepError::from(SagaError::Store(deadlock)).store_error().is_some());
        let taken = StepError::from(SagaError::Taken(SagaId::new(uuid::Uuid::from_u128(7))));
        assert!(taken.store_error().is_none());
        let shown = format!("{taken:?}");
        assert!(shown.contains("Bury") && shown.contains("before you begin another one"), "{shown}");
    }
}
