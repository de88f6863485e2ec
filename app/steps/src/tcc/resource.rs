use async_trait::async_trait;
use claimstream_domain::{Reason, tcc::BranchCall};
use claimstream_ports::StoreError;

use claimstream::TransactionError;

/// The resource that is reserved, used and given back by the branches of a [`LocalParticipant`](super::LocalParticipant).
///
/// Implementors owe: everything they do is done in the transaction that they are given. Callers see to the rest: each
/// method is called once for a branch, in an order that makes sense, unless the transaction is rolled back.
#[async_trait]
pub trait Resource<Tx: Sync>: Send + Sync {
    /// Takes the requested amount from the available one, and sets it apart.
    async fn reserve(&self, tx: &Tx, call: &BranchCall) -> Result<(), ResourceError>;

    /// Uses the amount that was set apart.
    async fn confirm(&self, tx: &Tx, call: &BranchCall) -> Result<(), ResourceError>;

    /// Makes the amount that was set apart available again.
    async fn release(&self, tx: &Tx, call: &BranchCall) -> Result<(), ResourceError>;
}

/// Why a resource did not do what it was asked; the transaction is rolled back.
#[derive(Debug, thiserror::Error)]
pub enum ResourceError {
    /// There is too little of it, or the call makes no sense to it.
    #[error("{reason}")]
    Refused {
        /// Why, without secrets.
        reason: Reason,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ResourceError {
    /// There is too little of it, or the call makes no sense to it.
    pub fn refused(why: impl std::fmt::Display) -> Self {
        Self::Refused { reason: Reason::new(why) }
    }
}

impl TransactionError for ResourceError {
    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Refused { .. } => None,
            Self::Store(error) => Some(error),
        }
    }
}
