use async_trait::async_trait;
use claimstream_domain::FindingGroup;

use crate::StoreError;

/// Looks for everything that could lose, double or hold up messages.
///
/// Implementors owe: a check changes nothing and holds no snapshot while others run; one that takes too long is a finding that says so.
///
/// Callers may rely on: the findings are for people. They may name hosts, files and database users, and no password.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait SelfCheck: Send + Sync {
    /// What was found, in groups by what it is about; an error if not even that can be said.
    async fn check(&self) -> Result<Vec<FindingGroup>, StoreError>;
}
