use async_trait::async_trait;
use claimstream_domain::notification::{NotificationRequest, Submitted};
use claimstream_ports::StoreError;

/// Takes notification requests in, in a transaction of its own.
///
/// Implementors owe: an answer comes only after the commit; all requests of a call are taken or, if it fails, none is; a
/// request whose id is known changes nothing; an open transaction that takes in the same request is a
/// [`BeingTakenIn`](claimstream_ports::notification::BeingTakenIn), as in
/// [`SubmitRequests`](claimstream_ports::notification::SubmitRequests). A call is not cut short when its caller stops waiting.
#[async_trait]
pub trait Intake: Send + Sync {
    /// Takes requests in, whose ids all differ; one answer for each, in order.
    async fn take(&self, requests: &[NotificationRequest]) -> Result<Vec<Submitted>, StoreError>;
}
