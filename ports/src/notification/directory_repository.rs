use async_trait::async_trait;
use claimstream_domain::notification::{DirectoryEntry, Recipient, SegmentPlace};

use super::SegmentPage;
use crate::StoreError;

/// Keeps users with their addresses, and the segments that they are in; [`RecipientDirectory`](super::RecipientDirectory) reads them.
///
/// Implementors owe: ids and names are compared byte by byte, and lists are in that order; what
/// [`DirectoryEntry::check_user`] and its neighbours refuse is an error of the kind `Corrupt`, and nothing changes; a call that was
/// repeated changes nothing more; users that are put or removed by two calls at a time end as one of the two wanted.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait DirectoryRepository: Send + Sync {
    /// Puts users in, each in place of the entry that its id has, and into a segment if one is named: all of it or nothing.
    ///
    /// A segment is made by the first call that names it, also without users. Of two entries of one id the later one is kept.
    async fn put(&self, users: &[Recipient], segment: Option<String>) -> Result<(), StoreError>;

    /// Puts known users into a segment, which is made if it is new: all of them, or none if one is unknown. Answers the ids that are
    /// unknown.
    async fn put_members(&self, segment: &str, users: &[String]) -> Result<Vec<String>, StoreError>;

    /// Takes users out of a segment, which stays, and answers how many were in it.
    async fn remove_members(&self, segment: &str, users: &[String]) -> Result<u64, StoreError>;

    /// A user and the segments that it is in; `None` if it is unknown.
    async fn entry(&self, user: &str) -> Result<Option<DirectoryEntry>, StoreError>;

    /// A page of all users from a place on, at most `limit`, by id.
    ///
    /// Implementors owe: a user whose entry cannot be read is named as such and keeps no other from its page.
    async fn list(&self, from: &SegmentPlace, limit: u32) -> Result<SegmentPage, StoreError>;

    /// Removes a user with all its addresses and attributes, from all segments too; says whether it was there.
    async fn remove(&self, user: &str) -> Result<bool, StoreError>;
}
