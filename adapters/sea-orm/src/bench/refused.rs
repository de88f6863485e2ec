use claimstream_ports::{StoreError, StoreErrorKind};

/// What errors of a bench's own database call the work.
pub(super) const BENCH: &str = "bench";

/// The URL or the user of the database will not do.
pub(super) fn misconfigured(why: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::Misconfigured, BENCH, why.into())
}
