use async_trait::async_trait;
use claimstream_domain::{AuditEntry, AuditListed};

use crate::StoreError;

/// Keeps what operators do.
///
/// Implementors owe: an entry is durable before [`note_action`](Self::note_action) returns, and nothing but its age takes it away. Later entries have
/// greater numbers; of two that are noted at one time either may be the later one. A call of [`entries`](Self::entries) reads a range of
/// keys of at most `limit` rows.
///
/// Callers owe: they note an action before they do it, and do not do it if that fails, so that no action is without its entry. An entry
/// may be without its action.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Notes what an operator is about to do, or what a long work has done.
    async fn note_action(&self, entry: &AuditEntry) -> Result<(), StoreError>;

    /// The newest entries, the newest first, at most `limit`; with `after`, those that follow the entry of this number.
    async fn entries(&self, after: Option<u64>, limit: u32) -> Result<Vec<AuditListed>, StoreError>;
}
