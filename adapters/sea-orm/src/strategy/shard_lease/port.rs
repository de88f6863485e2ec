use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{ClaimRequest, Claimed, Lease, QueueName, Receipt, Renewed, Settled, Settlement};
use claimstream_ports::StoreError;

use crate::{
    database::sql::Sql,
    settle::take_back::take_back,
    strategy::{
        contract::ClaimStrategy,
        shard_lease::{
            claim::claim,
            give_back::give_back_all,
            leases::ShardLease,
            settle::{renew::renew, settle},
        },
    },
};

#[async_trait]
impl ClaimStrategy for ShardLease {
    async fn claim(self: Arc<Self>, request: ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        claim(&self, request).await
    }

    async fn settle(self: Arc<Self>, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let settled = settle(&self, settlements).await?;
        // Rare: a box keeps it out of the future of every settlement.
        Box::pin(take_back(&self.db, &self.db.sql.shard_lease.uncount, settlements, &settled)).await;
        Ok(settled)
    }

    async fn renew(self: Arc<Self>, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError> {
        renew(&self, receipts, lease).await
    }

    async fn give_back(self: Arc<Self>, queue: &QueueName) -> Result<(), StoreError> {
        give_back_all(&self, queue).await
    }

    fn statement(&self) -> (&'static str, &Sql) {
        ("lease_read", &self.db.sql.shard_lease.read)
    }
}
