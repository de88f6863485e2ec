use async_trait::async_trait;
use claimstream_domain::{DeadLetter, DeadLetterFilter, DeadLetterGroups, DeadLetterPage, DeadLetterPlace};

use crate::StoreError;

/// What operators do with messages that were given up.
///
/// Implementors owe: pages that follow each other name each letter that matches and stays once, the newest first; no list but
/// [`list`](Self::list) reads what letters carry; a page looks at a bounded number of letters, so it may have few, or none, and still name
/// a next one; a revived message is due at once with no attempts counted and has left the dead letters in the same
/// transaction; a purged one is gone for good; nothing else ever leaves the dead letters.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// The dead letters that match, newest first, at most `limit`, with all that they carry.
    async fn list(&self, filter: &DeadLetterFilter, limit: u32) -> Result<Vec<DeadLetter>, StoreError>;

    /// The dead letters that match and are older than `after`, newest first, at most `limit`, without what they carry.
    async fn page(
        &self,
        filter: &DeadLetterFilter,
        after: Option<DeadLetterPlace>,
        limit: u32,
    ) -> Result<DeadLetterPage, StoreError>;

    /// How many dead letters match; `most` if there are more.
    async fn count(&self, filter: &DeadLetterFilter, most: u64) -> Result<u64, StoreError>;

    /// Why dead letters that match were given up, from the newest `most` of them.
    async fn groups(&self, filter: &DeadLetterFilter, most: u32) -> Result<DeadLetterGroups, StoreError>;

    /// Puts the dead letters that match back into their queues and answers how many there were. A reason that
    /// [is kept](claimstream_domain::Doubt::kept) is that of the attempt before the next one.
    async fn revive(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError>;

    /// Deletes the dead letters that match, for good, and answers how many there were.
    async fn purge(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError>;
}
