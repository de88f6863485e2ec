use async_trait::async_trait;
use claimstream_domain::QueueName;

use crate::StoreError;

/// "Maybe there is work": cuts a relay's idle wait short.
///
/// A wakeup may be lost and may come for nothing; correctness never rests on it.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Wakeup: Send + Sync {
    /// Waits until a message may have been enqueued into `queue` since the last wait ended.
    ///
    /// Implementors owe: a wait that was polled before a wakeup notices it, however long it is not polled then, and though other
    /// waits end with the same wakeup. A relay begins to wait before it claims and looks at the wait again afterwards.
    async fn wait(&self, queue: &QueueName);

    /// Wakes the waits on `queue`, because something may have been enqueued into it.
    async fn wake(&self, queue: &QueueName) -> Result<(), StoreError>;
}
