use claimstream_domain::{Reason, tcc::BranchRefusal};
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::effect::BrokenStep;
use claimstream::TransactionError;

/// Why an operation of a branch was not carried out; the transaction is to be rolled back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TccError<E> {
    /// An earlier call of the branch rules it out; it would be ruled out again.
    #[error(transparent)]
    Refused(#[from] BranchRefusal),
    /// A part of an earlier effect of the branch stands though that effect failed.
    #[error("{0}")]
    Broken(Reason),
    /// Another transaction changed the branch meanwhile; the same transaction, done again, reads its new state.
    #[error("{0}")]
    Conflict(#[source] StoreError),
    /// The ledger failed.
    #[error("{0}")]
    Store(#[source] StoreError),
    /// The effect failed.
    #[error("{0}")]
    Effect(E),
}

impl<E> TccError<E> {
    pub(super) fn conflict(operation: &'static str) -> Self {
        let why = "the branch was changed by another transaction meanwhile";
        Self::Conflict(StoreError::new(StoreErrorKind::Transient, operation, why))
    }
}

impl<E> From<BrokenStep> for TccError<E> {
    fn from(broken: BrokenStep) -> Self {
        Self::Broken(Reason::new(broken))
    }
}

impl<E> From<StoreError> for TccError<E> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl<E: TransactionError> TransactionError for TccError<E> {
    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Refused(_) | Self::Broken(_) => None,
            Self::Conflict(error) | Self::Store(error) => Some(error),
            Self::Effect(error) => error.store_error(),
        }
    }
}
