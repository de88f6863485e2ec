use async_trait::async_trait;
use claimstream_domain::{LeaseRelease, LeaseShown, QueueName, Shard};

use crate::StoreError;

/// Takes the lease of a shard away from its holder, for operators: an instance that hangs may renew it for ever.
///
/// Implementors owe: a release is a take-over. In one transaction it ends the lease under the fence that the operator was shown, counts
/// an attempt for each message in flight, and makes them due under a new fence; under any other fence it changes nothing. From then on each renewal
/// and settlement of the holder is `Superseded`.
///
/// Callers may rely on: no message is lost, and none is accepted twice. The holder learns of it with its next call, and may still
/// be handling what it has; so a handler may run twice, as after a lease that has run out. Any instance may take the shard then, its holder too.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ReleaseLeases: Send + Sync {
    /// A lease as it stands now; `None` if the shard was never leased.
    async fn lease(&self, queue: &QueueName, shard: Shard) -> Result<Option<LeaseShown>, StoreError>;

    /// Releases a lease if its fence is still `fence` and it is held; `by` is the operator's name, for the log.
    async fn release_lease(
        &self,
        queue: &QueueName,
        shard: Shard,
        fence: i64,
        by: &str,
    ) -> Result<LeaseRelease, StoreError>;
}
