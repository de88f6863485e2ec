use async_trait::async_trait;
use claimstream_domain::{DedupKey, DedupKeyTaken, MessageCarried, MessageId, MessageKept, QueueName};

use crate::StoreError;

/// Shows people what is kept of single messages; no decision is made by it.
///
/// Implementors owe: each call reads one row by its primary key; only [`carried`](Self::carried) reads a payload. A store that keeps the
/// bodies of finished messages for a while shows them for as long. A dead letter is read through [`DeadLetters`](crate::DeadLetters): its
/// body may be gone here.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ReadMessages: Send + Sync {
    /// What is kept of a message, without its payload; `None` if nothing is.
    async fn kept(&self, id: MessageId) -> Result<Option<MessageKept>, StoreError>;

    /// What a message carries; `None` if nothing is kept of it. Headers that cannot be read are left out.
    async fn carried(&self, id: MessageId) -> Result<Option<MessageCarried>, StoreError>;

    /// The message that has taken a dedup key of a queue; `None` if the key is free.
    async fn keyed(&self, queue: &QueueName, key: &DedupKey) -> Result<Option<DedupKeyTaken>, StoreError>;
}
