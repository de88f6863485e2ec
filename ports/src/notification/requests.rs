use async_trait::async_trait;
use claimstream_domain::{
    Enqueued, Reason,
    notification::{
        DeliveryStatus, FanOutEnd, NotificationRecord, NotificationRequest, Progress, RequestStatus,
    },
};
use uuid::Uuid;

use crate::StoreError;

/// Takes notification requests in, inside the caller's own transaction.
///
/// Implementors owe: the request, its status `Pending` and its outbox message exist exactly if the caller commits; a
/// request whose id is known is a `Duplicate` and changes nothing; the outbox message is due when the request says; calls
/// with the same requests in different orders do not lock each other out.
#[async_trait]
pub trait SubmitRequests<Tx: Sync + ?Sized>: Send + Sync {
    /// Takes requests in; one answer for each, in order.
    async fn submit(&self, tx: &Tx, requests: &[NotificationRequest]) -> Result<Vec<Enqueued>, StoreError>;
}

/// Keeps requests and where they stand, and the records of their messages.
#[async_trait]
pub trait RequestRepository: Send + Sync {
    /// Reads requests; one answer for each id, in order, `None` if there is no such request.
    async fn read(&self, ids: &[Uuid]) -> Result<Vec<Option<RequestRead>>, StoreError>;

    /// Notes steps of fan-outs: moves their requests on and keeps their records. One answer for each step, in order.
    ///
    /// Implementors owe: all steps are noted or none is; a request moves as [`FanOutEnd::moves`] says, and its reason
    /// with it; records are kept exactly if their request [has messages](RequestStatus::has_messages) afterwards; a
    /// record whose id is known is left as it is; steps that are noted again, as after a lost answer, get the same
    /// answers unless their messages have moved on; calls with the same requests in different orders do not lock each
    /// other out.
    async fn note_steps(&self, steps: &[FanOutStep]) -> Result<Vec<StepNoted>, StoreError>;

    /// Calls a pending request off.
    async fn cancel(&self, id: Uuid) -> Result<Cancelled, StoreError>;
}

/// A request that has been read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestRead {
    /// The request.
    pub request: NotificationRequest,
    /// Where it stands.
    pub status: RequestStatus,
}

/// What a step of a request's fan-out came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FanOutStep {
    /// The request.
    pub request: Uuid,
    /// How the step ends.
    pub end: FanOutEnd,
    /// Whether it takes a failed request up again.
    pub takes_up: bool,
    /// Its records, each with an id of its own.
    pub records: Vec<NotificationRecord>,
}

/// Where everything stands after a step was noted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepNoted {
    /// Where the request stands; `None` if there is no such request.
    pub status: Option<RequestStatus>,
    /// Where each record of the step stands, in order; empty if none of them is kept.
    pub records: Vec<DeliveryStatus>,
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
