use async_trait::async_trait;
use claimstream_domain::{DeadLetter, DeadLetterFilter};

use crate::StoreError;

/// What operators do with messages that were given up.
///
/// Implementors owe: a revived message is due at once with no attempts counted and has left the dead letters in the same
/// transaction; a purged one is gone for good; nothing else ever leaves the dead letters.
#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// The dead letters that match, newest first, at most `limit`.
    async fn list(&self, filter: &DeadLetterFilter, limit: u32) -> Result<Vec<DeadLetter>, StoreError>;

    /// Puts the dead letters that match back into their queues and answers how many there were.
    async fn revive(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError>;

    /// Deletes the dead letters that match, for good, and answers how many there were.
    async fn purge(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError>;
}
