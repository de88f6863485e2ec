use async_trait::async_trait;
use claimstream_domain::{
    Enqueued, Reason,
    notification::{DeliveryStatus, NotificationRecord, NotificationRequest, Progress, RequestStatus},
};
use uuid::Uuid;

use crate::StoreError;

/// Takes notification requests in, inside the caller's own transaction.
///
/// Implementors owe: the request, its status `Pending` and its outbox message exist exactly if the caller commits; a
/// request whose id is known is a `Duplicate` and changes nothing; the outbox message is due when the request says.
#[async_trait]
pub trait SubmitRequests<Tx: Sync + ?Sized>: Send + Sync {
    /// Takes requests in; one answer for each, in order.
    async fn submit(&self, tx: &Tx, requests: &[NotificationRequest]) -> Result<Vec<Enqueued>, StoreError>;
}

/// Keeps requests and where they stand.
#[async_trait]
pub trait RequestRepository: Send + Sync {
    /// Marks a pending request as being processed and reads it; `None` if there is none.
    ///
    /// Implementors owe: the status that comes back is the one after the mark; a cancelled or finished request is
    /// left as it is.
    async fn open(&self, id: Uuid) -> Result<Option<OpenedRequest>, StoreError>;

    /// Marks a request that is being processed as dispatched, or as failed if there is a reason; any other is left as it
    /// is.
    async fn close(&self, id: Uuid, failure: Option<Reason>) -> Result<(), StoreError>;

    /// Takes a failed request up again: it is being processed, and its reason is gone. Any other is left as it is.
    async fn reopen(&self, id: Uuid) -> Result<(), StoreError>;

    /// Calls a pending request off.
    async fn cancel(&self, id: Uuid) -> Result<Cancelled, StoreError>;
}

/// A request that has been read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenedRequest {
    /// The request.
    pub request: NotificationRequest,
    /// Where it stands.
    pub status: RequestStatus,
}

/// Whether a request was cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancelled {
    /// It is cancelled and nothing was sent.
    Yes,
    /// Too late: it stood here.
    TooLate(RequestStatus),
    /// There is no such request.
    Unknown,
}

/// Keeps messages and where they stand.
#[async_trait]
pub trait MessageRepository: Send + Sync {
    /// Keeps records that are not kept yet and says, in order, where each one stands now.
    ///
    /// Implementors owe: a record whose id is known is left as it is.
    async fn record(&self, records: &[NotificationRecord]) -> Result<Vec<DeliveryStatus>, StoreError>;

    /// Where messages stand, in order; `None` for one that is not kept.
    async fn status(&self, ids: &[Uuid]) -> Result<Vec<Option<DeliveryStatus>>, StoreError>;

    /// Notes what became of pending messages; one that is settled already is left as it is.
    async fn conclude(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError>;

    /// Makes a failed message pending again, its reason gone; one that stands elsewhere is left as it is.
    async fn reopen(&self, id: Uuid) -> Result<(), StoreError>;
}

/// What became of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageOutcome {
    /// The message.
    pub id: Uuid,
    /// Delivered or failed.
    pub status: DeliveryStatus,
    /// Why it failed.
    pub reason: Option<Reason>,
    /// The provider's own name for the delivery.
    pub reference: Option<String>,
}

/// Answers people's questions about requests.
#[async_trait]
pub trait NotificationReports: Send + Sync {
    /// How far a request has come; `None` if there is none.
    async fn progress(&self, id: Uuid) -> Result<Option<Progress>, StoreError>;

    /// What a request's combinations of recipient and channel came to, by id, after the id `after`, at most `limit`.
    async fn messages(
        &self,
        id: Uuid,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<NotificationRecord>, StoreError>;
}
