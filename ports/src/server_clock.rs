use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::Due;

use crate::StoreError;

/// Says how late it is, by the store's clock.
///
/// Implementors owe: it is the clock by which messages come due, so that a message which is due at a moment is not
/// claimed before that moment is zero or more ago. A reading may be up to a second old if it was carried on by a
/// monotonic clock.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ServerClock: Send + Sync {
    /// How long ago `due` was: zero if it is still to come, and for whatever is not a moment.
    async fn late(&self, due: Due) -> Result<Duration, StoreError>;
}
