use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{ClaimRequest, Claimed, Lease, QueueName, Receipt, Renewed, Settled, Settlement};
use claimstream_ports::StoreError;

use crate::database::sql::Sql;

/// How an outbox claims messages and ends claims; chosen once, when it is opened.
#[async_trait]
pub(crate) trait ClaimStrategy: Send + Sync {
    /// Claims due messages of a queue, as many as are asked for and there are.
    async fn claim(self: Arc<Self>, request: ClaimRequest) -> Result<Vec<Claimed>, StoreError>;

    /// Ends claims, and says of each whether it was still its claim's to end.
    async fn settle(self: Arc<Self>, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError>;

    /// Extends the leases of claims, and says of each whether it was still there.
    async fn renew(self: Arc<Self>, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError>;

    /// Gives back the messages that were read ahead for claims that will not come, and waits until they are back.
    async fn give_back(self: Arc<Self>, queue: &QueueName) -> Result<(), StoreError>;

    /// The statement that finds due messages, by its name, for the doctor to explain.
    fn statement(&self) -> (&'static str, &Sql);
}
