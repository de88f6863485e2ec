use async_trait::async_trait;
use claimstream_domain::{DeadLetter, DeadLetterFilter};

use crate::StoreError;

/// What operators do with messages that were given up.
///
/// Implementors owe: a revived message is due at once with no attempts counted and has left the dead letters in the same
/// transaction; a purged one is gone for good; nothing else ever leaves the dead letters.
#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// The newest `limit` dead letters that match.
    async fn list(&self, filter: &DeadLetterFilter, limit: u32) -> Result<Vec<DeadLetter>, StoreError>;

    /// Puts those that match back into their queues and says how many.
    async fn revive(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError>;

    /// Deletes those that match and says how many.
    async fn purge(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError>;
}
