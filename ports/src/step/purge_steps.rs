use std::time::Duration;

use async_trait::async_trait;

use crate::StoreError;

/// Forgets steps that no message can come for any more.
///
/// Implementors owe: the steps of a run go together, once the last change of the run is older than the retention, but one
/// that is changed while they go stays; and
/// none goes that was changed after the oldest message that is live or a dead letter in the same store had come into
/// being, because that message may still come for it; and none of a run that has not ended, however old it is.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait PurgeSteps: Send + Sync {
    /// How long the steps of a run are kept after its last change.
    fn step_retention(&self) -> Duration;

    /// Forgets what may be forgotten now, in small portions, and says how many steps that were.
    async fn purge_steps(&self) -> Result<u64, StoreError>;
}
