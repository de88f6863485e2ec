use claimstream_domain::{Invalid, Reason};
use claimstream_ports::{StoreError, StoreErrorKind};

use super::DecisionError;
use crate::effect::BrokenStep;
use claimstream::TransactionError;

/// Why a transaction of a tick was rolled back.
#[derive(Debug)]
pub(super) enum Halt {
    /// The store said so.
    Store(StoreError),
    /// The decision or the hook failed.
    Failed(Reason),
    /// Another run has the event's row.
    Busy,
    /// The event is over, or has changed since it was read.
    Overtaken,
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<BrokenStep> for Halt {
    fn from(broken: BrokenStep) -> Self {
        Self::Failed(Reason::new(broken))
    }
}

impl From<DecisionError> for Halt {
    fn from(error: DecisionError) -> Self {
        match error {
            DecisionError::Store(error) => Self::Store(error),
            DecisionError::Failed(reason) => Self::Failed(reason),
        }
    }
}

impl From<Invalid> for Halt {
    fn from(why: Invalid) -> Self {
        Self::Store(corrupt(why))
    }
}

impl TransactionError for Halt {
    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            Self::Failed(_) | Self::Busy | Self::Overtaken => None,
        }
    }
}

/// Stored data, or data to be stored, is not as it must be.
pub(super) fn corrupt(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, "timer event", why)
}
