use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::{
    Reason,
    notification::{
        DeliveryStatus, FanOutEnd, NotificationRecord, NotificationRequest, Progress, RequestStatus,
        Submitted, digest::NewDigestItem, provider::ProviderName,
    },
};
use uuid::Uuid;

use crate::StoreError;

/// Takes notification requests in, inside the caller's own transaction.
///
/// Implementors owe: the request, its status `Pending` and its outbox message exist if and only if the caller commits; a
/// request whose id is known changes nothing, and is `Replayed` or a `Conflict` by
/// [`fingerprint`](NotificationRequest::fingerprint), for as long as the request is kept, erased or not; the outbox message
/// is due when the request says; a request whose id is that of a message which is not its own is refused with a
/// [`Conflict`](crate::StoreErrorKind::Conflict); calls with the same requests in different orders do not lock each other out; a call that
/// meets a request which an open transaction takes in waits for it, no longer than the store waits for any lock, and ends with a
/// [`Transient`](crate::StoreErrorKind::Transient) error whose [source](StoreError::get_ref) is [`BeingTakenIn`] then, unless the store
/// cannot tell which of its writers it waited for; a request under whose
/// id something unreadable is kept ends the call with a [`Corrupt`](crate::StoreErrorKind::Corrupt) error whose source is
/// [`UnreadableRequest`].
#[async_trait]
pub trait SubmitRequests<Tx: Sync + ?Sized>: Send + Sync {
    /// Takes requests in; one answer for each, in order.
    async fn submit(&self, tx: &Tx, requests: &[NotificationRequest]) -> Result<Vec<Submitted>, StoreError>;
}

/// Another transaction that has not ended takes in one of the same requests, so whether it is known is not decided yet.
#[derive(Debug, thiserror::Error)]
#[error("a transaction that has not ended may take in one of these requests, hand them in again later: {0}")]
pub struct BeingTakenIn(pub String);

/// The request that is kept under the same id cannot be read by this version, so it is unknown whether it is the same.
#[derive(Debug, thiserror::Error)]
#[error("what is kept under the id of one of these requests cannot be read by this version: {0}")]
pub struct UnreadableRequest(pub String);

/// Keeps requests and where they stand, and the records of their messages.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait RequestRepository: Send + Sync {
    /// Reads requests; one answer for each id, in order, `None` if there is no such request.
    async fn read(&self, ids: &[Uuid]) -> Result<Vec<Option<RequestRead>>, StoreError>;

    /// Notes steps of fan-outs: moves their requests on and keeps their records. One answer for each step, in order.
    ///
    /// Implementors owe: all steps are noted or none is; a request moves as [`FanOutEnd::moves`] says, and its reason
    /// as [`FanOutEnd::reason_after`] says; records are kept if and only if their request [has messages](RequestStatus::has_messages) afterwards; a
    /// record whose id is known is left as it is; a step with records is [`outdated`](StepNoted::outdated), and neither moves its request nor
    /// keeps a record, if more of the request is erased by then than the step says; steps that are noted again, as after a lost answer, get the same
    /// answers unless their messages have moved on; calls with the same requests in different orders do not lock each
    /// other out.
    ///
    /// Items are kept with their records, while these are pending. Each joins the open digest of its
    /// [key](claimstream_domain::notification::digest::DigestItem::key), or opens one with an outbox message of
    /// its [own](claimstream_domain::notification::digest::DigestItem::opening), all in the same transaction. A digest is open until its window
    /// is over, [`close`](super::DigestRepository::close) has closed it, or it has [`MOST`](claimstream_domain::notification::digest::DigestItem::MOST) items. A record that
    /// was kept without an item, as by a process without digests, is no item of one: its message is enqueued by itself, unless it was.
    async fn note_steps(&self, steps: &[FanOutStep]) -> Result<Vec<StepNoted>, StoreError>;

    /// Calls a request off: takes back what has not been delivered.
    ///
    /// Implementors owe: a request is cancelled if and only if [`RequestStatus::is_cancellable`] says so, and is `Cancelled` before its
    /// messages are taken back; a fan-out that is under way keeps no record and enqueues nothing from then on; the outbox message
    /// of a pending request that is not due yet goes in the same transaction; all pending messages are `Cancelled` in the end,
    /// in bounded transactions; a call that was cut off is completed by another one.
    ///
    /// A message that a provider has at that moment is delivered all the same, and is `Delivered` when that is noted. The outbox
    /// messages of the others are acked when they are met, without a delivery.
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
    /// The [`erased_places`](NotificationRequest::erased_places) of the request when it was read.
    pub erased_places: usize,
    /// Which part of the request can never be carried out, such as an unknown segment.
    pub flaw: Option<Reason>,
    /// Its records, each with an id of its own.
    pub records: Vec<NotificationRecord>,
    /// The messages of its records that wait for a digest.
    pub items: Vec<NewDigestItem>,
}

/// Where everything stands after a step was noted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepNoted {
    /// Where the request stands; `None` if there is no such request.
    pub status: Option<RequestStatus>,
    /// Where each record of the step stands, in order; empty if none of them is kept.
    pub records: Vec<DeliveryStatus>,
    /// Nothing of the step was noted, because a recipient of the request was erased since it was read.
    pub outdated: bool,
}

/// Whether a request was cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancelled {
    /// It is cancelled.
    Yes(CancelledMessages),
    /// Too late: nothing is left that could be taken back. This is its status, as [`Progress::status`] says it.
    TooLate(RequestStatus),
    /// There is no such request.
    Unknown,
}

/// What became of the messages of a request that was cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CancelledMessages {
    /// So many were taken back by this call.
    pub messages: u64,
    /// So many had been delivered.
    pub delivered: u64,
    /// At most so many of those taken back were in a provider's hands, and are delivered if it takes them: as many as relays had
    /// claimed of all notification messages.
    pub in_hands: u64,
}

/// Keeps messages and where they stand.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait MessageRepository: Send + Sync {
    /// Where messages stand, in order; `None` for one that is not kept.
    async fn status(&self, ids: &[Uuid]) -> Result<Vec<Option<DeliveryStatus>>, StoreError>;

    /// The same for messages that are about to be delivered, with the providers that may have them, in order.
    async fn delivery_states(&self, ids: &[Uuid]) -> Result<Vec<DeliveryState>, StoreError>;

    /// How long ago 1970-01-01 00:00 UTC is by the store's clock: requests name the moment at which they expire, and only this
    /// says whether it has passed.
    async fn since_1970(&self) -> Result<Duration, StoreError>;

    /// Notes what became of messages; each moves as [`DeliveryStatus::after`] says.
    async fn conclude(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError>;

    /// Keeps records of messages that are in the outbox though nothing is recorded of them, and moves their requests on as the steps did that
    /// the messages are of: a server that has taken over without the last commits of the one before it may lack what a fan-out had noted there.
    ///
    /// Implementors owe: a record that is there stays as it is, and so does a request that has come to an end; of a request that is unknown,
    /// failed or cancelled, no record is kept. A recipient that was [erased](super::EraseRecipient) after the request was taken in, or at any time if the request is
    /// unknown, has a record of an erased recipient whose message is cancelled, and its payload is left as an erasure leaves it; that holds for an erasure at the same time, which finds the
    /// record or is found. The answer says where each record stands then, in order: `Cancelled` if its request was cancelled or its recipient erased, and `None` if none is kept
    /// for another reason.
    async fn restore(&self, missing: &[MissingRecord]) -> Result<Vec<Option<DeliveryStatus>>, StoreError>;

    /// Moves a failed message on as [`DeliveryStatus::revived`] says, and answers where it stands then; `None` if it is not kept. One that
    /// stands elsewhere is left as it is.
    ///
    /// Implementors owe: a call at the same time as a cancellation of its request leaves no pending message behind.
    async fn reopen(&self, id: Uuid) -> Result<Option<DeliveryStatus>, StoreError>;
}

/// What is known of a message before it is delivered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeliveryState {
    /// Where it stands; `None` if it is not kept.
    pub status: Option<DeliveryStatus>,
    /// The providers that have accepted it, or may have, as the [log of attempts](super::AttemptLog) says, each once.
    pub in_doubt: Vec<ProviderName>,
}

impl From<DeliveryStatus> for DeliveryState {
    /// A message that stands so and that no provider may have.
    fn from(status: DeliveryStatus) -> Self {
        Self { status: Some(status), in_doubt: Vec::new() }
    }
}

/// A record that a message should have and has not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingRecord {
    /// The record, as its step noted it.
    pub record: NotificationRecord,
    /// How the step ended: [`More`](FanOutEnd::More) if others followed.
    pub end: FanOutEnd,
}

/// The steps that [`MessageRepository::restore`] notes, one of each request and without records: it is the last one if a record says so.
pub fn restoring(missing: &[MissingRecord]) -> Vec<FanOutStep> {
    let mut steps: Vec<FanOutStep> = Vec::new();
    for MissingRecord { record, end } in missing {
        match steps.iter_mut().find(|step| step.request == record.request_id) {
            Some(step) if step.end == FanOutEnd::More => step.end = end.clone(),
            Some(_) => {}
            None => steps.push(FanOutStep {
                request: record.request_id,
                end: end.clone(),
                takes_up: false,
                erased_places: 0,
                flaw: None,
                records: Vec::new(),
                items: Vec::new(),
            }),
        }
    }
    steps
}

/// What became of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageOutcome {
    /// The message.
    pub id: Uuid,
    /// Delivered, failed, or skipped.
    pub status: DeliveryStatus,
    /// Why it failed.
    pub reason: Option<Reason>,
    /// The provider's own name for the delivery.
    pub reference: Option<String>,
}

/// Answers people's questions about requests.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait NotificationReports: Send + Sync {
    /// How far a request has come; `None` if there is none.
    ///
    /// Implementors owe: a message counts once where it stands, and once for each kind of receipt that is kept of it; a receipt that
    /// waits for its delivery to be noted counts from then on; no more is read than the messages of the request and their receipts.
    async fn progress(&self, id: Uuid) -> Result<Option<Progress>, StoreError>;

    /// What a request's combinations of recipient and channel came to, by id, after the id `after`, at most `limit`.
    async fn messages(
        &self,
        id: Uuid,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<NotificationRecord>, StoreError>;

    /// What became of one combination of recipient and channel, by the id of its message; `None` if none has this id.
    async fn record(&self, message: Uuid) -> Result<Option<NotificationRecord>, StoreError>;
}
