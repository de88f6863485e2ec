use std::{convert::Infallible, error::Error, fmt, sync::Arc};

use claimstream_domain::{Invalid, QueueName};
use claimstream_ports::{StoreError, StoreErrorKind};

/// Why a relay could not do what it was asked to; a lost lease is not among the reasons, it is an outcome.
///
/// Its text holds what the store said, so [`source`](Error::source) answers nothing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RelayError {
    /// A value or a setting was refused; nothing was sent to the store.
    Invalid(Invalid),
    /// The store failed.
    ///
    /// The claims in question come back by themselves when their leases end, unless they were settled after all.
    Store {
        /// What the relay was doing.
        operation: Operation,
        /// In which queue.
        queue: QueueName,
        /// What the store said; shared, because settlements are written together.
        source: Arc<StoreError>,
    },
}

/// What a relay does with a store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// Taking messages with a lease.
    Claim,
    /// Ending claims.
    Settle,
    /// Extending claims.
    Renew,
}

impl RelayError {
    /// What kind of trouble the store is in, if it is the store's.
    pub fn kind(&self) -> Option<StoreErrorKind> {
        match self {
            Self::Invalid(_) => None,
            Self::Store { source, .. } => Some(source.kind()),
        }
    }

    /// Whether the same call may work later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Store { source, .. } if source.is_retryable())
    }
}

impl fmt::Display for RelayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(invalid) => invalid.fmt(f),
            Self::Store { operation, queue, source } => {
                write!(f, "could not {operation} in queue {queue}: {source}")
            }
        }
    }
}

impl Error for RelayError {}

impl From<Invalid> for RelayError {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

/// Lets a [`QueueName`] stand where text that may not be one is taken as well.
impl From<Infallible> for RelayError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Claim => "claim",
            Self::Settle => "settle",
            Self::Renew => "renew",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_was_done_where_and_why() {
        let queue = QueueName::new("orders").unwrap();
        let source = Arc::new(StoreError::new(StoreErrorKind::Transient, "lock", "deadlock found"));
        let error = RelayError::Store { operation: Operation::Settle, queue, source };
        assert_eq!(error.to_string(), "could not settle in queue orders: lock: transient: deadlock found");
        assert!(error.is_retryable() && error.source().is_none());
        assert_eq!(error.kind(), Some(StoreErrorKind::Transient));
        assert!(!RelayError::from(Invalid::Empty { what: "queue name" }).is_retryable());
    }
}
