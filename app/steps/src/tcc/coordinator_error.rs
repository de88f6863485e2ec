use claimstream_domain::{
    Invalid,
    tcc::{GlobalId, GlobalState},
};
use claimstream_ports::{StoreError, tcc::ParticipantError};

use claimstream::TransactionError;

/// Why a coordinator did not carry a global transaction on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CoordinatorError {
    /// The transaction or a setting was refused; nothing was begun.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A branch goes to a participant that was not registered; nothing was begun.
    #[error("no participant is called {0:?} in this process; register it")]
    UnknownParticipant(String),
    /// There is a transaction with this id, and it has other branches or payloads.
    #[error(
        "global transaction {0} was begun before, with other branches or payloads; look at it before you begin another one"
    )]
    IdTaken(GlobalId),
    /// Nothing is known of the transaction.
    #[error("no global transaction {0} was ever begun here")]
    UnknownTransaction(GlobalId),
    /// A participant did not say that it is done.
    #[error("{gid} is {state:?}: {error}")]
    Participant {
        /// Which transaction.
        gid: GlobalId,
        /// Where it stands.
        state: GlobalState,
        /// What the participant said.
        error: ParticipantError,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TransactionError for CoordinatorError {
    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}
