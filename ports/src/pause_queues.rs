use async_trait::async_trait;
use claimstream_domain::{PauseNote, PausedQueue, QueueName};

use crate::StoreError;

/// Stops claims from a queue, and lets them begin again.
///
/// Implementors owe: a pause and a resumption are durable before the call returns, and last until the other one, whatever is
/// restarted meanwhile. Two seconds after a pause, no claim of any instance takes a message from the queue any more; what was read
/// ahead before is handed out for a moment longer. A claim after a resumption finds what is due at once. Nothing else changes:
/// claims that are held are renewed and settled as ever, and messages are enqueued and come due.
///
/// Callers may rely on: a stream stops within its [`idle_max`](claimstream_domain::Pacing::idle_max), or within two seconds if that is less, and begins again within
/// `idle_max`. Messages that it had claimed before are still handed out.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait PauseQueues: Send + Sync {
    /// Pauses a queue; `false` if it was paused already, which leaves the earlier note.
    async fn pause(&self, queue: &QueueName, note: &PauseNote) -> Result<bool, StoreError>;

    /// Resumes a queue, and keeps the name of the operator, `by`; `false` if it was not paused.
    async fn resume(&self, queue: &QueueName, by: &str) -> Result<bool, StoreError>;

    /// The queues that are paused, by name, also those without a message.
    async fn paused(&self) -> Result<Vec<PausedQueue>, StoreError>;
}
