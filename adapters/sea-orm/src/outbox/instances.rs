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
        self.detached(LIST, move |state| async move { instances::instances(&state.db, after, limit).await })
            .await
    }

    async fn leases(
        &self,
        after: Option<(QueueName, Shard)>,
        limit: u32,
    ) -> Result<Vec<LeaseListed>, StoreError> {
        self.detached(LIST, move |state| async move { instances::leases(&state.db, after, limit).await })
            .await
    }
    async fn leases_of(&self, queue: &QueueName) -> Result<Vec<LeaseListed>, StoreError> {
        let queue = queue.clone();
        self.detached(LIST, move |state| async move { instances::leases_of(&state.db, &queue).await }).await
    }
}

#[async_trait]
impl ReleaseLeases for SeaOrmOutbox {
    async fn lease(&self, queue: &QueueName, shard: Shard) -> Result<Option<LeaseShown>, StoreError> {
        let queue = queue.clone();
        self.detached(LIST, move |state| async move { instances::lease(&state.db, &queue, shard).await })
            .await
    }

    async fn release_lease(
        &self,
        queue: &QueueName,
        shard: Shard,
        fence: i64,
        by: &str,
    ) -> Result<LeaseRelease, StoreError> {
        let (queue, by) = (queue.clone(), by.to_owned());
        self.detached(RELEASE, move |state| async move {
            let released = release(&state.db, &queue, shard, fence).await?;
            if let LeaseRelease::Released { cut_off } = released {
                let shard = shard.number();
                tracing::warn!(%queue, shard, fence, by, cut_off, "an operator has released the lease of a shard");
            }
            Ok(released)
        }).await
    }
}
