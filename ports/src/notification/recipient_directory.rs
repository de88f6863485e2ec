use async_trait::async_trait;
use claimstream_domain::notification::{Recipient, SegmentPlace};

use crate::StoreError;

/// Finds users and the members of segments.
///
/// Implementors owe errors of two kinds: one that may pass is `Transient` or `Unavailable`, one that does not pass by itself is any
/// other. Both put the request off, and count an attempt.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait RecipientDirectory: Send + Sync {
    /// The users of these ids.
    ///
    /// Implementors owe: a user whose entry cannot be read is named as such and keeps no other from the answer.
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError>;

    /// A page of the members of a segment from a place on, at most `limit`; `None` if the directory does not know the segment.
    ///
    /// Implementors owe: a member whose entry cannot be read is named as such and keeps no other from its page; a member that is there
    /// all the while a segment is read page by page is on exactly one page, whatever others come and go; the next page begins at another
    /// place; a page costs no more the further back it is.
    async fn members(
        &self,
        segment: &str,
        from: &SegmentPlace,
        limit: u32,
    ) -> Result<Option<SegmentPage>, StoreError>;
}

/// Users that were looked up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FoundUsers {
    /// One place for each id that was asked for, in order, also for one that stands there twice; `None` for a user that the directory does
    /// not know or whose entry cannot be read.
    pub users: Vec<Option<Recipient>>,
    /// The ids of the users whose entries cannot be read.
    pub unreadable: Vec<String>,
}

impl From<Vec<Option<Recipient>>> for FoundUsers {
    fn from(users: Vec<Option<Recipient>>) -> Self {
        Self { users, unreadable: Vec::new() }
    }
}

/// Some members of a segment, or some users of the directory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SegmentPage {
    /// The members; there may be none, even if others follow.
    pub members: Vec<Recipient>,
    /// The ids of the members whose entries cannot be read.
    pub unreadable: Vec<String>,
    /// The key after which the next page begins; `None` if this is the last one.
    pub next: Option<String>,
}
