use claimstream_ports::{StoreError, StoreErrorKind};

/// The error where a row that was seen before is not there, or is older than it was: behind a proxy another node of a cluster may be
/// asked, which has not yet carried out what was read at the first one. The transaction is begun again.
pub(crate) fn late_node(operation: &'static str) -> StoreError {
    let why = "a row that was seen before is not there, or is older than it was: a node was asked that is late; it passes";
    StoreError::new(StoreErrorKind::Transient, operation, why)
}
