use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{ClaimRequest, Claimed, Lease, QueueName, Receipt, Renewed, Settled, Settlement};
use claimstream_ports::StoreError;

use crate::database::sql::Sql;

/// How an outbox claims messages and ends claims; chosen once, when it is opened.
#[async_trait]
pub(crate) trait ClaimStrategy: Send + Sync {
    /// Claims due messages of a queue, at most as many as the request asks for.
    async fn claim(self: Arc<Self>, request: ClaimRequest) -> Result<Vec<Claimed>, StoreError>;

    /// Ends claims, and returns for each settlement whether the claim still held the message.
    async fn settle(self: Arc<Self>, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError>;

    /// Extends the leases of claims, and returns for each receipt whether the claim was still there.
    async fn renew(self: Arc<Self>, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError>;

    /// Makes messages due again that were read ahead for claims that will not come, and waits until they are.
    async fn release_read_ahead(self: Arc<Self>, _: &QueueName) -> Result<(), StoreError> {
        Ok(())
    }

    /// The statement that finds due messages, by its name, for the doctor to explain.
    fn due_statement(&self) -> (&'static str, &Sql);
}
