use async_trait::async_trait;
use claimstream_domain::QueueStatus;

use crate::StoreError;

/// Counts the messages of queues for operators and gauges; no decision is made by it.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Observe: Send + Sync {
    /// One entry for each queue that holds a message or a dead letter, by name.
    async fn observe(&self) -> Result<Vec<QueueStatus>, StoreError>;
}
