use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::notification::{InAppEntry, InAppPage, NewInAppEntry};
use uuid::Uuid;

use crate::StoreError;

/// Keeps what users read inside the application.
///
/// Implementors owe: an entry whose id is known is left as it is, read or not; an entry belongs to one user, and a call that names
/// another one neither shows nor changes it.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait InAppInbox: Send + Sync {
    /// Puts entries in: all of them, or none that was not there before.
    async fn put(&self, entries: &[NewInAppEntry]) -> Result<(), StoreError>;

    /// A page of a user's entries, the newest first.
    async fn page(&self, page: &InAppPage) -> Result<Vec<InAppEntry>, StoreError>;

    /// How many entries a user has not read, counted up to [`InAppEntry::MOST_UNREAD`].
    async fn unread(&self, user: &str) -> Result<u64, StoreError>;

    /// Notes that a user has read some entries, and answers how many of them had not been read before.
    async fn mark_read(&self, user: &str, ids: &[Uuid]) -> Result<u64, StoreError>;

    /// Notes that a user has read all entries that are no newer than one of theirs, and answers how many had not been read before.
    async fn mark_read_up_to(&self, user: &str, newest: Uuid) -> Result<u64, StoreError>;

    /// The entries of some users that were put in within this time, the newest first, at most `limit`.
    ///
    /// It is for those who wait for new ones: ask for more time than passes between two questions, because a transaction
    /// that began earlier may commit later, and leave out the ids that were seen.
    async fn recent(
        &self,
        users: &[String],
        within: Duration,
        limit: u32,
    ) -> Result<Vec<InAppEntry>, StoreError>;

    /// Forgets at most `limit` entries that are older than this, and answers how many.
    async fn forget_older(&self, age: Duration, limit: u32) -> Result<u64, StoreError>;

    /// Forgets at most `limit` entries of a user, and answers how many.
    async fn forget_user(&self, user: &str, limit: u32) -> Result<u64, StoreError>;
}
