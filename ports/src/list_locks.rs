use async_trait::async_trait;
use claimstream_domain::LockListed;

use crate::StoreError;

/// Shows people which distributed locks there are; no decision is made by it.
///
/// An operator releases a lock as its holder would, with the fence that the list shows:
/// [`DistributedLock::release`](crate::DistributedLock::release) does nothing if another holder has come meanwhile.
///
/// Implementors owe: a call reads a range of keys of at most `limit` rows.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ListLocks: Send + Sync {
    /// The locks behind `after`, by key, at most `limit`; also those that have lapsed, until they are swept.
    async fn locks(&self, after: Option<String>, limit: u32) -> Result<Vec<LockListed>, StoreError>;
}
