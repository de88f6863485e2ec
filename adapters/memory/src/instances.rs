use async_trait::async_trait;
use claimstream_domain::{
    InstanceId, InstanceListed, LeaseListed, LeaseRelease, LeaseShown, QueueName, Shard,
};
use claimstream_ports::{ListInstances, ReleaseLeases, StoreError};

use crate::store::MemoryStore;

/// Claims here mark messages, so no shard is ever leased.
#[async_trait]
impl ListInstances for MemoryStore {
    async fn instances(
        &self,
        after: Option<InstanceId>,
        limit: u32,
    ) -> Result<Vec<InstanceListed>, StoreError> {
        Ok(self.database.tables().instances.list(after, limit, self.database.now()))
    }

    async fn leases(
        &self,
        _after: Option<(QueueName, Shard)>,
        _limit: u32,
    ) -> Result<Vec<LeaseListed>, StoreError> {
        Ok(Vec::new())
    }

    async fn leases_of(&self, _queue: &QueueName) -> Result<Vec<LeaseListed>, StoreError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl ReleaseLeases for MemoryStore {
    async fn lease(&self, _queue: &QueueName, _shard: Shard) -> Result<Option<LeaseShown>, StoreError> {
        Ok(None)
    }

    async fn release_lease(
        &self,
        _queue: &QueueName,
        _shard: Shard,
        _fence: i64,
        _by: &str,
    ) -> Result<LeaseRelease, StoreError> {
        Ok(LeaseRelease::Changed)
    }
}
