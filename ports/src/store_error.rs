use std::{error::Error, fmt};

/// A store that could not do what it was asked: what it was doing, the kind of trouble, and the source.
///
/// Callers branch on [`kind`](Self::kind) and never on the text.
#[derive(Debug, thiserror::Error)]
#[error("{operation}: {kind}: {source}")]
pub struct StoreError {
    kind: StoreErrorKind,
    operation: &'static str,
    source: Box<dyn Error + Send + Sync>,
}

/// What kind of trouble a store is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StoreErrorKind {
    /// Passes by itself and nothing was changed: a deadlock, a lock wait, a busy file.
    Transient,
    /// The store cannot be reached or does not take writes now; whether the last call took effect may be unknown.
    Unavailable,
    /// The store cannot do this at all, now or later; the text names what it can do.
    Unsupported,
    /// What is stored, or what was asked to be stored, is not what it must be.
    Corrupt,
    /// Something with this identity exists already.
    Conflict,
}

impl StoreError {
    /// An error met during `operation`, a verb such as `claim`.
    pub fn new(
        kind: StoreErrorKind,
        operation: &'static str,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { kind, operation, source: source.into() }
    }

    /// What kind of trouble it is.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// What the store was doing.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Whether the same call may work later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Transient | StoreErrorKind::Unavailable)
    }
}

impl fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transient => "transient",
            Self::Unavailable => "unavailable",
            Self::Unsupported => "unsupported",
            Self::Corrupt => "corrupt",
            Self::Conflict => "conflict",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_was_done_the_kind_and_the_source() {
        let error = StoreError::new(StoreErrorKind::Transient, "claim", "deadlock found");
        assert_eq!(error.to_string(), "claim: transient: deadlock found");
        assert!(error.is_retryable() && error.source().is_some());
    }
}
