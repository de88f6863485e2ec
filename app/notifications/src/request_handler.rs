use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, Headers, Invalid, NewMessage, Reason, RetryPolicy, Verdict,
    notification::{
        DeliveryStatus, FanOut, NotificationMessage, NotificationRecord, NotificationRequest, RequestStatus,
        delivery_message, fan_out, fan_out_message, message_id,
    },
};
use claimstream_ports::{
    Handler, StoreError, StoreErrorKind,
    notification::{
        MessageOutcome, MessageRepository, OpenedRequest, RecipientDirectory, RequestRepository,
        TemplateSource,
    },
};
use uuid::Uuid;

use super::{
    chunk::{Chunk, Gathered},
    writer::Writer,
};

/// Fans requests out: handles one chunk of recipients for each message of the queue
/// [`REQUEST_QUEUE`](super::REQUEST_QUEUE).
///
/// * A request that is unknown or cancelled is acked and nothing is sent.
/// * A request that names an unknown segment, or nobody at all, is closed as failed.
/// * A combination of recipient and channel that cannot be sent is recorded as skipped, with the reason.
/// * A request whose last allowed attempt fails or is cut off is closed as failed, in step with its dead letter.
/// * A request that was dispatched and comes again, its ack having been lost, never fails any more: if the directory has
///   forgotten its recipients meanwhile, it is tried again, and its last attempt ends with the dead letters.
/// * A request that has failed and comes again was revived, or its end was recorded and its settlement lost. It is taken up
///   where it failed while attempts are left, and goes to the dead letters after that.
/// * While a request cannot be read, its message is given back and no attempt is counted.
///
/// The last chunk closes the request before its messages are enqueued. If it is cut off in between it comes again,
/// finds the request dispatched, and enqueues the pending messages; so only `Failed` and `Cancelled` end a fan-out.
pub struct RequestHandler {
    requests: Arc<dyn RequestRepository>,
    messages: Arc<dyn MessageRepository>,
    directory: Arc<dyn RecipientDirectory>,
    templates: Arc<dyn TemplateSource>,
    config: RequestConfig,
}

/// How requests are fanned out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestConfig {
    /// The most recipients handled at a time, 1 to 10 000; each makes up to one message for each channel, all
    /// enqueued in one transaction. 500 by default.
    pub chunk: u32,
    /// How often and after which waits a chunk is tried again: 30 s doubled up to 1800 s, 6 attempts. The pipeline gets
    /// [`pipeline_retry`](Self::pipeline_retry).
    pub retry: RetryPolicy,
}

impl RequestConfig {
    /// The largest chunk.
    pub const MAX_CHUNK: u32 = 10_000;

    /// Refuses a chunk outside its range and a policy that could never run.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(1..=Self::MAX_CHUNK).contains(&self.chunk) {
            return Err(Invalid::OutOfRange {
                what: "notification chunk",
                given: self.chunk.to_string(),
                allowed: format!("1 to {} recipients", Self::MAX_CHUNK),
            });
        }
        self.retry.check()
    }

    /// The retry policy to give to the pipeline: [`retry`](Self::retry) and one attempt more, which does nothing but
    /// close a request whose last attempt was cut off, as by a crash, or could not be recorded.
    pub fn pipeline_retry(&self) -> RetryPolicy {
        self.retry.with_one_more_attempt()
    }
}

impl Default for RequestConfig {
    fn default() -> Self {
        let retry = RetryPolicy {
            base: Duration::from_secs(30),
            cap: Duration::from_secs(1_800),
            max_attempts: 6,
            ..RetryPolicy::default()
        };
        Self { chunk: 500, retry }
    }
}

impl RequestHandler {
    /// A handler on these ports; refuses what [`RequestConfig::check`] refuses.
    pub fn new(
        requests: Arc<dyn RequestRepository>,
        messages: Arc<dyn MessageRepository>,
        directory: Arc<dyn RecipientDirectory>,
        templates: Arc<dyn TemplateSource>,
        config: RequestConfig,
    ) -> Result<Self, Invalid> {
        config.check()?;
        Ok(Self { requests, messages, directory, templates, config })
    }

    async fn step(&self, claimed: &Claimed, checkpoint: FanOut) -> Result<Verdict, StoreError> {
        let id = checkpoint.request;
        let opened = match self.requests.open(id).await {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(ignore(id, "UNKNOWN")),
            Err(error) if error.is_about_the_store() => return Ok(give_back(claimed, id, &error)),
            Err(error) => return Err(error),
        };
        match opened.status {
            RequestStatus::Cancelled => Ok(ignore(id, opened.status.name())),
            RequestStatus::Failed if claimed.attempt <= self.config.retry.max_attempts => {
                tracing::info!(request = %id, "notification.request.taken_up");
                self.requests.reopen(id).await?;
                let reopened = OpenedRequest { status: RequestStatus::Processing, ..opened };
                self.fan_out(claimed, &reopened, checkpoint).await
            }
            RequestStatus::Failed => {
                tracing::warn!(request = %id, "notification.request.buried");
                Ok(Verdict::bury("the request has failed, and no attempt is left; revive it to try again"))
            }
            RequestStatus::Pending | RequestStatus::Processing
                if claimed.attempt > self.config.retry.max_attempts =>
            {
                Ok(self.give_up(claimed, id, unended(claimed)).await)
            }
            RequestStatus::Pending
            | RequestStatus::Processing
            | RequestStatus::Dispatched
            | RequestStatus::PartiallyFailed => self.fan_out(claimed, &opened, checkpoint).await,
        }
    }

    async fn fan_out(
        &self,
        claimed: &Claimed,
        opened: &OpenedRequest,
        from: FanOut,
    ) -> Result<Verdict, StoreError> {
        let (request, directory) = (&opened.request, self.directory.as_ref());
        let chunk = match Chunk::gather(directory, &request.recipients, from, self.config.chunk).await? {
            Gathered::Chunk(chunk) => chunk,
            Gathered::UnknownSegment(name) => {
                let why = Reason::new(format_args!("unknown segment {name:?}"));
                return self.fail(claimed, opened, why).await;
            }
        };
        if from == FanOut::begin(request.id) && chunk.is_empty() {
            return self.fail(claimed, opened, Reason::new("the request has no recipients")).await;
        }
        let sendable = self.record(self.resolve(request, &chunk).await?).await?;
        let emit = children(&sendable, chunk.next, &claimed.message.headers).map_err(corrupt)?;
        if chunk.next.is_none() {
            self.requests.close(request.id, None).await?;
        }
        tracing::info!(
            request = %request.id, reference = from.reference, offset = from.offset,
            recipients = chunk.known.len(), unknown = chunk.unknown.len(), messages = sendable.len(),
            finished = chunk.next.is_none(), "notification.request.fanned_out"
        );
        Ok(Verdict::Ack { emit })
    }

    /// Every combination of a recipient of the chunk and a channel of the request, with its message if there is one.
    async fn resolve(
        &self,
        request: &NotificationRequest,
        chunk: &Chunk,
    ) -> Result<Vec<(NotificationRecord, Option<NotificationMessage>)>, StoreError> {
        let writer = Writer::open(self.templates.as_ref(), request, &chunk.known).await?;
        let mut pairs = fan_out(request, &chunk.known, |recipient, channel| writer.write(recipient, channel));
        let unknown = chunk.unknown.iter().flat_map(|(key, why)| skipped(request, key, why));
        pairs.extend(unknown.map(|record| (record, None)));
        Ok(pairs)
    }

    /// Keeps the records and answers the messages that have still to be sent.
    async fn record(
        &self,
        pairs: Vec<(NotificationRecord, Option<NotificationMessage>)>,
    ) -> Result<Vec<NotificationMessage>, StoreError> {
        let (records, messages): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let statuses = self.messages.record(&records).await?;
        if statuses.len() != records.len() {
            return Err(corrupt(format!("{} answers for {} records", statuses.len(), records.len())));
        }
        let pending = |status: &DeliveryStatus| *status == DeliveryStatus::Pending;
        let lapsed = records.iter().zip(&messages).zip(&statuses);
        let lapsed = lapsed.filter(|((_, message), status)| message.is_none() && pending(status));
        self.settle_lapsed(lapsed.map(|((record, _), _)| record)).await?;
        let open = messages.into_iter().zip(statuses).filter(|(_, status)| pending(status));
        Ok(open.filter_map(|(message, _)| message).collect())
    }

    /// Settles records that an earlier attempt found sendable and this one does not, as when a template went missing in
    /// between; they would be pending for ever.
    async fn settle_lapsed(
        &self,
        records: impl Iterator<Item = &NotificationRecord>,
    ) -> Result<(), StoreError> {
        let outcome = |record: &NotificationRecord| MessageOutcome {
            id: record.id,
            status: DeliveryStatus::Failed,
            reason: record.reason.clone(),
            reference: None,
        };
        let outcomes: Vec<_> = records.map(outcome).collect();
        match outcomes.is_empty() {
            true => Ok(()),
            false => self.messages.conclude(&outcomes).await,
        }
    }

    async fn fail(
        &self,
        claimed: &Claimed,
        opened: &OpenedRequest,
        why: Reason,
    ) -> Result<Verdict, StoreError> {
        let request = opened.request.id;
        if !matches!(opened.status, RequestStatus::Pending | RequestStatus::Processing) {
            return Ok(self.stuck(claimed, request, why));
        }
        self.requests.close(request, Some(why)).await?;
        tracing::warn!(request = %request, "notification.request.failed");
        Ok(Verdict::ack())
    }

    /// A dispatched request cannot fail any more, and an ack would lose the messages that are recorded and not enqueued.
    fn stuck(&self, claimed: &Claimed, request: Uuid, why: Reason) -> Verdict {
        let attempt = claimed.attempt;
        tracing::error!(request = %request, attempt, "notification.request.stuck");
        let why = format_args!("dispatched, but its pending messages can no longer be enqueued: {why}");
        match self.config.retry.is_last(attempt) {
            true => Verdict::bury(why),
            false => Verdict::nack(why),
        }
    }

    /// Another attempt, or the end of the request with its last one.
    async fn put_off(&self, claimed: &Claimed, request: Uuid, error: StoreError) -> Verdict {
        let (attempt, operation, kind) = (claimed.attempt, error.operation(), error.kind());
        tracing::warn!(request = %request, attempt, operation, %kind, "notification.request.put_off");
        match self.config.retry.is_last(attempt) {
            true => self.give_up(claimed, request, Reason::new(error)).await,
            false => Verdict::nack(error),
        }
    }

    /// The end of the request; it comes once more if that cannot be recorded and the spare attempt is left.
    async fn give_up(&self, claimed: &Claimed, request: Uuid, reason: Reason) -> Verdict {
        let attempt = claimed.attempt;
        let closed = self.requests.close(request, Some(reason.clone())).await;
        let recorded = closed.is_ok();
        tracing::error!(request = %request, attempt, recorded, "notification.request.given_up");
        match closed {
            Err(error) if attempt <= self.config.retry.max_attempts => {
                Verdict::nack(format_args!("{reason}; this could not be recorded: {error}"))
            }
            _ => Verdict::Bury { reason },
        }
    }
}

#[async_trait]
impl Handler for RequestHandler {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let checkpoint: FanOut = match serde_json::from_slice(claimed.message.payload.bytes()) {
            Ok(checkpoint) => checkpoint,
            Err(e) => return Verdict::bury(format_args!("the payload is not a fan-out checkpoint: {e}")),
        };
        match self.step(claimed, checkpoint).await {
            Ok(verdict) => verdict,
            Err(error) => self.put_off(claimed, checkpoint.request, error).await,
        }
    }
}

impl fmt::Debug for RequestHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHandler").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Why there is no attempt left after one that did not come to an end.
fn unended(claimed: &Claimed) -> Reason {
    match &claimed.last_error {
        Some(last) => Reason::new(format_args!(
            "the last attempt never ended or could not be noted; heard last: {last}"
        )),
        None => Reason::new("the last attempt never ended"),
    }
}

/// Nothing was done yet, and what the store said is not the request's failure.
fn give_back(claimed: &Claimed, request: Uuid, error: &StoreError) -> Verdict {
    tracing::warn!(request = %request, attempt = claimed.attempt, %error, "notification.request.given_back");
    Verdict::Release
}

fn ignore(request: Uuid, status: &'static str) -> Verdict {
    tracing::info!(request = %request, status, "notification.request.ignored");
    Verdict::ack()
}

fn skipped<'a>(
    request: &'a NotificationRequest,
    key: &'a str,
    why: &'a str,
) -> impl Iterator<Item = NotificationRecord> + 'a {
    request.channels.iter().map(move |channel| NotificationRecord {
        id: message_id(request.id, *channel, key),
        request_id: request.id,
        channel: *channel,
        recipient: key.to_owned(),
        status: DeliveryStatus::Skipped,
        reason: Some(Reason::new(why)),
    })
}

/// What finishing a chunk enqueues: its messages and the next checkpoint, with the headers of the chunk and so its
/// trace.
fn children(
    messages: &[NotificationMessage],
    next: Option<FanOut>,
    headers: &Headers,
) -> Result<Vec<NewMessage>, Invalid> {
    let next = next.as_ref().map(fan_out_message);
    let all = messages.iter().map(delivery_message).chain(next);
    all.map(|message| message.map(|message| message.with_headers(headers.clone()))).collect()
}

fn corrupt(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, "fan out", source)
}
