use async_trait::async_trait;
use claimstream_domain::{InstanceId, InstanceListed, LeaseListed, QueueName, Shard};

use crate::StoreError;

/// Shows people which instances work and what they hold; no decision is made by it.
///
/// Implementors owe: each call reads a range of keys of at most `limit` rows, or those of one queue.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ListInstances: Send + Sync {
    /// The instances that follow `after`, by id, at most `limit`; those that ended long ago have been swept.
    async fn instances(
        &self,
        after: Option<InstanceId>,
        limit: u32,
    ) -> Result<Vec<InstanceListed>, StoreError>;

    /// The leases of shards that follow `after`, by queue and shard, at most `limit`; none unless the strategy is `shard_lease`.
    async fn leases(
        &self,
        after: Option<(QueueName, Shard)>,
        limit: u32,
    ) -> Result<Vec<LeaseListed>, StoreError>;

    /// The leases of one queue's shards, by shard.
    async fn leases_of(&self, queue: &QueueName) -> Result<Vec<LeaseListed>, StoreError>;
}
