use async_trait::async_trait;
use claimstream_domain::QueueName;

use crate::StoreError;

/// "Maybe there is work": cuts a relay's idle wait short.
///
/// A wakeup may be lost and may come for nothing; correctness never rests on it.
#[async_trait]
pub trait Wakeup: Send + Sync {
    /// Waits until somebody may have enqueued into `queue` since the last wait ended.
    async fn wait(&self, queue: &QueueName);

    /// Says that somebody has.
    async fn wake(&self, queue: &QueueName) -> Result<(), StoreError>;
}
