use std::{collections::VecDeque, fmt, sync::Arc};

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, Headers, Invalid, NewMessage, Reason, Verdict,
    notification::{
        FanOut, FanOutEnd, NotificationMessage, NotificationRecord, NotificationRequest, RequestStatus,
        delivery_message, fan_out, fan_out_message,
    },
};
use claimstream_ports::{
    BatchHandler, Handler, StoreError, StoreErrorKind, Verdicts,
    notification::{
        MessageRepository, RecipientDirectory, RequestRead, RequestRepository, StepNoted, TemplateSource,
    },
};
use tracing::Instrument;

use super::{
    RequestConfig,
    alone::alone,
    chunk::{Chunk, Gathered},
    fan_out_attempt::{Attempt, Found, Then, fitting, ignored, stuck, unended},
    groups::Groups,
    reading::read_each,
    unwinding::unwinding,
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
/// The last chunk marks the request as dispatched before its messages are enqueued. If it is cut off in between it comes
/// again, finds the request dispatched, and enqueues the pending messages; so only `Failed` and `Cancelled` end a fan-out.
///
/// The requests of a batch share statements: one reads them, and one transaction marks them and keeps their records. Their
/// recipients are found beside each other, all of a batch at once, so the pipeline bounds how many: with `BatchPipeline::at_once` a
/// slow directory holds up only the requests that ask it. A directory or template source that panics has failed for that request
/// only. As a [`Handler`] it takes each message as a batch of its own.
pub struct RequestHandler {
    requests: Arc<dyn RequestRepository>,
    messages: Arc<dyn MessageRepository>,
    directory: Arc<dyn RecipientDirectory>,
    templates: Arc<dyn TemplateSource>,
    config: RequestConfig,
}

impl RequestHandler {
    /// About 5 000 records are noted in a transaction.
    const GROUPS: Groups = Groups { rows: 5_000 };

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

    /// One attempt; what it finds is noted later, or its verdict is given at once.
    async fn attempt<'a>(
        &self,
        attempt: Attempt<'a>,
        read: Result<Option<RequestRead>, StoreError>,
        verdicts: &dyn Verdicts,
    ) -> Option<Found<'a>> {
        let (id, is_over) = (attempt.request(), attempt.claimed.attempt > self.config.retry.max_attempts);
        let verdict = match read {
            Ok(Some(read)) => match read.status {
                status @ RequestStatus::Cancelled => ignored(id, status.name()),
                RequestStatus::Failed if is_over => {
                    tracing::warn!(request = %id, "notification.request.buried");
                    Verdict::bury("the request has failed, and no attempt is left; revive it to try again")
                }
                RequestStatus::Pending | RequestStatus::Processing if is_over => {
                    return Some(attempt.is_given_up(unended(attempt.claimed)));
                }
                status => {
                    let attempt = Attempt { takes_up: status == RequestStatus::Failed, ..attempt };
                    return self.fan_out(attempt, &read, verdicts).await;
                }
            },
            Ok(None) => ignored(id, "UNKNOWN"),
            Err(error) if error.is_about_the_store() => {
                give_back(&attempt, &error, verdicts);
                return None;
            }
            Err(error) => return self.put_off(attempt, &error, verdicts),
        };
        verdicts.give(attempt.index, verdict);
        None
    }

    async fn fan_out<'a>(
        &self,
        attempt: Attempt<'a>,
        read: &RequestRead,
        verdicts: &dyn Verdicts,
    ) -> Option<Found<'a>> {
        if attempt.takes_up {
            tracing::info!(request = %attempt.request(), "notification.request.taken_up");
        }
        let span = tracing::debug_span!(
            "fan_out",
            request = %attempt.request(),
            attempt = attempt.claimed.attempt,
            traceparent = attempt.claimed.message.headers.get("traceparent"),
        );
        match unwinding(self.find(attempt, &read.request)).instrument(span).await {
            Err(panicked) => {
                tracing::warn!(request = %attempt.request(), "notification.request.panicked");
                self.comes_again(attempt, panicked, verdicts)
            }
            Ok(Ok(Found { end: FanOutEnd::Failed(why), .. }))
                if matches!(read.status, RequestStatus::Dispatched | RequestStatus::PartiallyFailed) =>
            {
                let is_last = self.config.retry.is_last(attempt.claimed.attempt);
                verdicts.give(attempt.index, stuck(&attempt, &why, is_last));
                None
            }
            Ok(Ok(found)) => Some(found),
            Ok(Err(error)) => self.put_off(attempt, &error, verdicts),
        }
    }

    /// The recipients of one chunk, and what is written to them.
    async fn find<'a>(
        &self,
        attempt: Attempt<'a>,
        request: &NotificationRequest,
    ) -> Result<Found<'a>, StoreError> {
        let from = attempt.checkpoint;
        let gathered =
            Chunk::gather(self.directory.as_ref(), &request.recipients, from, self.config.chunk).await?;
        let chunk = match gathered {
            Gathered::Chunk(chunk) => chunk,
            Gathered::UnknownSegment(name) => {
                return Ok(attempt.fails(Reason::new(format_args!("unknown segment {name:?}"))));
            }
        };
        if from == FanOut::begin(request.id) && chunk.is_empty() {
            return Ok(attempt.fails(Reason::new("the request has no recipients")));
        }
        let (records, messages): (Vec<_>, Vec<_>) = self.resolve(request, &chunk).await?.into_iter().unzip();
        let headers = &attempt.claimed.message.headers;
        let enqueued = |message: Option<NotificationMessage>| {
            message.map(|message| child(delivery_message(&message), headers)).transpose()
        };
        let messages = messages.into_iter().map(enqueued).collect::<Result<_, _>>()?;
        let next = chunk.next.map(|next| child(fan_out_message(&next), headers)).transpose()?;
        let end = if next.is_some() { FanOutEnd::More } else { FanOutEnd::Done };
        Ok(Found { attempt, end, records, then: Then::Send { messages, next } })
    }

    /// Every combination of a recipient of the chunk and a channel of the request, with its message if there is one.
    async fn resolve(
        &self,
        request: &NotificationRequest,
        chunk: &Chunk,
    ) -> Result<Vec<(NotificationRecord, Option<NotificationMessage>)>, StoreError> {
        let writer = Writer::open(self.templates.as_ref(), request, &chunk.known).await?;
        let mut pairs = fan_out(request, &chunk.known, |recipient, channel| writer.write(recipient, channel));
        pairs.extend(chunk.unknown_to(request).map(|record| (record, None)));
        Ok(pairs)
    }

    /// Another attempt, or the end of the request with its last one.
    fn put_off<'a>(
        &self,
        attempt: Attempt<'a>,
        error: &StoreError,
        verdicts: &dyn Verdicts,
    ) -> Option<Found<'a>> {
        let (request, number) = (attempt.request(), attempt.claimed.attempt);
        let (operation, kind) = (error.operation(), error.kind());
        tracing::warn!(%request, attempt = number, operation, %kind, "notification.request.put_off");
        self.comes_again(attempt, Reason::new(error), verdicts)
    }

    fn comes_again<'a>(
        &self,
        attempt: Attempt<'a>,
        reason: Reason,
        verdicts: &dyn Verdicts,
    ) -> Option<Found<'a>> {
        if self.config.retry.is_last(attempt.claimed.attempt) {
            return Some(attempt.is_given_up(reason));
        }
        verdicts.give(attempt.index, Verdict::Nack { after: None, reason });
        None
    }

    /// Notes what attempts have found, and gives the verdicts on their messages. One that cannot be noted is no business of the
    /// others; one that cannot be and was the last is given up, which is noted in turn.
    async fn note(&self, group: Vec<Found<'_>>, verdicts: &dyn Verdicts) {
        let mut groups = VecDeque::from([group]);
        while let Some(group) = groups.pop_front() {
            let (steps, rests): (Vec<_>, Vec<_>) = group.into_iter().map(Found::into_step).unzip();
            let noted = self.requests.note_steps(&steps).await.and_then(|noted| fitting(noted, &steps));
            let group = steps.into_iter().zip(rests).map(Found::of_step);
            match noted {
                Ok(noted) => groups.push_back(self.noted(group.zip(noted).collect(), verdicts).await),
                Err(error) if group.len() > 1 && !error.is_about_the_store() => {
                    groups.extend(group.map(|found| vec![found]));
                }
                Err(error) => {
                    let unnoted = group.filter_map(|found| self.unnoted(found, &error, verdicts));
                    groups.push_back(unnoted.collect());
                }
            }
            groups.retain(|group| !group.is_empty());
        }
    }

    /// Settles the records that have lapsed and gives verdicts; answers what is given up.
    async fn noted<'a>(&self, group: Vec<(Found<'a>, StepNoted)>, verdicts: &dyn Verdicts) -> Vec<Found<'a>> {
        let lapsed: Vec<_> = group.iter().flat_map(|(found, noted)| found.lapsed(noted)).collect();
        let settled = match lapsed.is_empty() {
            true => Ok(()),
            false => self.messages.conclude(&lapsed).await,
        };
        let mut given_up = Vec::new();
        for (found, noted) in group {
            match &settled {
                Err(error) if !found.lapsed(&noted).is_empty() => {
                    given_up.extend(self.put_off(found.attempt, error, verdicts));
                }
                _ => {
                    let (index, number) = (found.attempt.index, found.attempt.claimed.attempt);
                    verdicts.give(index, found.verdict(noted, self.config.retry.is_last(number)));
                }
            }
        }
        given_up
    }

    /// What could not be noted is tried again, or given up; an end that could not be noted comes once more.
    fn unnoted<'a>(
        &self,
        found: Found<'a>,
        error: &StoreError,
        verdicts: &dyn Verdicts,
    ) -> Option<Found<'a>> {
        let Then::Bury(reason) = found.then else { return self.put_off(found.attempt, error, verdicts) };
        let verdict = Found::unrecorded(&found.attempt, reason, error, self.config.retry.max_attempts);
        verdicts.give(found.attempt.index, verdict);
        None
    }
}

#[async_trait]
impl BatchHandler for RequestHandler {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let mut attempts = Vec::new();
        for (index, claimed) in batch.iter().enumerate() {
            match serde_json::from_slice(claimed.message.payload.bytes()) {
                Ok(checkpoint) => attempts.push(Attempt { index, claimed, checkpoint, takes_up: false }),
                Err(e) => {
                    let why = format_args!("the payload is not a fan-out checkpoint: {e}");
                    verdicts.give(index, Verdict::bury(why));
                }
            }
        }
        if attempts.is_empty() {
            return;
        }
        let read = |ids: Vec<_>| async move { self.requests.read(&ids).await };
        let give_back = |attempt: &_, error: &_| give_back(attempt, error, verdicts);
        let read = read_each(attempts, Attempt::request, read, give_back).await;
        let works = read.into_iter().map(|(attempt, read)| self.attempt(attempt, read, verdicts));
        let works: Vec<_> = works.collect();
        Self::GROUPS.run(works, Found::rows, |group| self.note(group, verdicts)).await;
    }
}

#[async_trait]
impl Handler for RequestHandler {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        alone(self, claimed).await
    }
}

impl fmt::Debug for RequestHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHandler").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Nothing was done yet, and what the store said is not the request's failure.
fn give_back(attempt: &Attempt<'_>, error: &StoreError, verdicts: &dyn Verdicts) {
    let (request, number) = (attempt.request(), attempt.claimed.attempt);
    tracing::warn!(%request, attempt = number, %error, "notification.request.given_back");
    verdicts.give(attempt.index, Verdict::Release);
}

/// What finishing a chunk enqueues, with the headers of the chunk and so its trace.
fn child(message: Result<NewMessage, Invalid>, headers: &Headers) -> Result<NewMessage, StoreError> {
    let message = message.map_err(|invalid| StoreError::new(StoreErrorKind::Corrupt, "fan out", invalid))?;
    Ok(message.with_headers(headers.clone()))
}
