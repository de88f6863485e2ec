//! The strategy `shard_lease`: whole shards are leased, and messages need no write of their own to be claimed.
//!
//! Each shard of a queue has one lease row: holder, fence, end, and the messages in flight. A claim reads the next due messages
//! without a lock, notes them in the lease row, and hands them out once that one write has proven the fence; the messages that
//! it was not asked for wait for the claims that follow. A settlement proves the fence in the transaction that ends the
//! messages, and frees the shard with the last of them. An instance that finds an expired lease counts an attempt for each
//! message in flight and takes the shard over under the next fence.

mod claim;
mod flow;
mod give_back;
mod in_flight;
pub(crate) mod in_flight_list;
pub(crate) mod lease;
pub(crate) mod leases;
mod owned_shards;
mod read_ahead;
mod settle;
pub(crate) mod shard_key;
mod shard_state;
mod suspect;
mod thin_load;
mod turn;
mod turns;
mod watermark;

use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{ClaimRequest, Claimed, Lease, QueueName, Receipt, Renewed, Settled, Settlement};
use claimstream_ports::StoreError;

use crate::{
    database::sql::Sql,
    strategy::{
        claim_strategy::ClaimStrategy,
        shard_lease::{
            claim::claim,
            give_back::give_back_all,
            leases::ShardLease,
            settle::{renew::renew, settle},
        },
        shared::take_back::take_back,
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

    async fn release_read_ahead(self: Arc<Self>, queue: &QueueName) -> Result<(), StoreError> {
        give_back_all(&self, queue).await
    }

    fn due_statement(&self) -> (&'static str, &Sql) {
        ("lease_read", &self.db.sql.shard_lease.read)
    }
}
