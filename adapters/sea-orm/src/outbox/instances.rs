use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{
    InstanceId, InstanceListed, LeaseListed, LeaseRelease, LeaseShown, QueueName, Shard,
};
use claimstream_ports::{ListInstances, ReleaseLeases, StoreError};

use super::handle::SeaOrmOutbox;
use crate::{
    queues::instances,
    strategy::shard_lease::lease::release::{RELEASE, release},
};

const LIST: &str = "instances";

#[async_trait]
impl ListInstances for SeaOrmOutbox {
    async fn instances(
        &self,
        after: Option<InstanceId>,
        limit: u32,
    ) -> Result<Vec<InstanceListed>, StoreError> {
        let db = Arc::clone(&self.rooms.db);
        self.rooms.db.detached(LIST, async move { instances::instances(&db, after, limit).await }).await
    }

    async fn leases(
        &self,
        after: Option<(QueueName, Shard)>,
        limit: u32,
    ) -> Result<Vec<LeaseListed>, StoreError> {
        let db = Arc::clone(&self.rooms.db);
        self.rooms.db.detached(LIST, async move { instances::leases(&db, after, limit).await }).await
    }
    async fn leases_of(&self, queue: &QueueName) -> Result<Vec<LeaseListed>, StoreError> {
        let (db, queue) = (Arc::clone(&self.rooms.db), queue.clone());
        self.rooms.db.detached(LIST, async move { instances::leases_of(&db, &queue).await }).await
    }
}

#[async_trait]
impl ReleaseLeases for SeaOrmOutbox {
    async fn lease(&self, queue: &QueueName, shard: Shard) -> Result<Option<LeaseShown>, StoreError> {
        let (db, queue) = (Arc::clone(&self.rooms.db), queue.clone());
        self.rooms.db.detached(LIST, async move { instances::lease(&db, &queue, shard).await }).await
    }

    async fn release_lease(
        &self,
        queue: &QueueName,
        shard: Shard,
        fence: i64,
        by: &str,
    ) -> Result<LeaseRelease, StoreError> {
        let (db, queue, by) = (Arc::clone(&self.rooms.db), queue.clone(), by.to_owned());
        let work = async move {
            let released = release(&db, &queue, shard, fence).await?;
            if let LeaseRelease::Released { cut_off } = released {
                let shard = shard.number();
                tracing::warn!(%queue, shard, fence, by, cut_off, "an operator has released the lease of a shard");
            }
            Ok(released)
        };
        self.rooms.db.detached(RELEASE, work).await
    }
}
