use std::fmt::Display;

use claimstream_ports::{StoreError, StoreErrorKind};

const SETTLE: &str = "settle";

/// The outcome of a settlement is not known.
///
/// A row that is gone after its lease has ended proves nothing, nor does an answer of a server that lags behind.
pub(crate) fn unknown(why: impl Display) -> StoreError {
    let why = format!("the outcome is unknown: {why}");
    StoreError::new(StoreErrorKind::Unavailable, SETTLE, why)
}
