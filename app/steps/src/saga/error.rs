use claimstream_domain::{Invalid, Reason, saga::SagaId};
use claimstream_ports::StoreError;

use claimstream::TransactionError;

/// Why a saga could not be begun, continued or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SagaError {
    /// The request cannot be a saga.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// There is a saga with this id, and it is about something else; use a fresh id.
    #[error("saga {0} was asked for before, by another owner or with another input; use a fresh id")]
    Taken(SagaId),
    /// There is no saga with this id.
    #[error("there is no saga {0}")]
    Unknown(SagaId),
    /// Its steps have been forgotten, as they are long after its end.
    #[error("the steps of saga {0} have been forgotten; it cannot continue")]
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
