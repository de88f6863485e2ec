mod concluding;
mod noting;

use std::{collections::HashSet, fmt, sync::Arc};

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, Invalid, NewMessage, Reason, Verdict,
    notification::{
        FanOut, FanOutEnd, NotificationMessage, NotificationRecord, NotificationRequest, Recipient,
        RequestStatus, delivery_message_of, digest::DigestRules, fan_out, fan_out_message,
    },
};
use claimstream_ports::{
    BatchHandler, Handler, StoreError, Verdicts,
    notification::{MessageRepository, RecipientDirectory, RequestRead, RequestRepository, TemplateSource},
};
use tracing::Instrument;

use super::{
    RequestConfig,
    alone::alone,
    chunk::Chunk,
    consents::Consents,
    digests::take_out,
    fan_out_attempt::{FanOutAttempt, FanOutResult, Then, child, give_back, ignored, stuck, unended},
    groups::Groups,
    question::Question,
    reading::read_each,
    templates::CompiledTemplates,
    unwinding::unwinding,
    writer::Writer,
};

/// Fans requests out: handles one chunk of recipients for each message of the queue
/// [`REQUEST_QUEUE`](super::REQUEST_QUEUE).
///
/// * A request that is unknown or cancelled is acked and nothing is sent.
/// * A request without any recipient is closed as failed. One that names an unknown segment among others is carried out for
///   these; the segment has a failed record for each channel, and the request's reason names it.
/// * A member of a segment whose entry the directory cannot read has a failed record for each channel; the others are reached.
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
/// recipients are found at the same time, all of a batch at once, so the pipeline bounds how many: with `BatchPipeline::at_once` a
/// slow directory holds up only the requests that ask it. A directory or template source that panics has failed for that request
/// only. As a [`Handler`] it takes each message as a batch of its own.
pub struct RequestHandler {
    requests: Arc<dyn RequestRepository>,
    messages: Arc<dyn MessageRepository>,
    directory: Arc<dyn RecipientDirectory>,
    templates: CompiledTemplates,
    config: RequestConfig,
    consents: Option<Consents>,
    digests: DigestRules,
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
        let templates = CompiledTemplates::of(templates);
        let digests = DigestRules::default();
        Ok(Self { requests, messages, directory, templates, config, consents: None, digests })
    }

    /// The same handler, which asks recipients' preferences; without them everybody gets everything at once.
    pub fn with_consents(self, consents: Consents) -> Self {
        Self { consents: Some(consents), ..self }
    }

    /// The same handler, which keeps messages of some categories for digests; [`Digests`](super::Digests) delivers them.
    pub fn with_digests(self, digests: DigestRules) -> Self {
        Self { digests, ..self }
    }

    /// One attempt; what it finds is noted later, or its verdict is given at once.
    async fn attempt<'a>(
        &self,
        attempt: FanOutAttempt<'a>,
        read: Result<Option<RequestRead>, StoreError>,
        verdicts: &dyn Verdicts,
    ) -> Option<FanOutResult<'a>> {
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
                    let erased_places = read.request.erased_places();
                    let attempt =
                        FanOutAttempt { takes_up: status == RequestStatus::Failed, erased_places, ..attempt };
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
        attempt: FanOutAttempt<'a>,
        read: &RequestRead,
        verdicts: &dyn Verdicts,
    ) -> Option<FanOutResult<'a>> {
        if attempt.takes_up {
            tracing::debug!(request = %attempt.request(), "notification.request.taken_up");
        }
        let span = tracing::debug_span!(
            "fan_out",
            request = %attempt.request(),
            attempt = attempt.claimed.attempt,
            traceparent = attempt.claimed.message.headers.get("traceparent"),
        );
        match unwinding(self.find(attempt, read)).instrument(span).await {
            Err(panicked) => {
                tracing::warn!(request = %attempt.request(), "notification.request.panicked");
                self.comes_again(attempt, panicked, verdicts)
            }
            Ok(Ok(FanOutResult { end: FanOutEnd::Failed(why), .. })) if read.status.is_fanned_out() => {
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
        attempt: FanOutAttempt<'a>,
        read: &RequestRead,
    ) -> Result<FanOutResult<'a>, StoreError> {
        let request = &read.request;
        let from = attempt.checkpoint;
        let limit = Chunk::limit(request, self.config.chunk);
        let chunk = Chunk::gather(self.directory.as_ref(), &request.recipients, from, limit).await?;
        let flaw = chunk.flaw();
        if from.is_beginning() && chunk.is_empty() && chunk.next.is_none() {
            return Ok(attempt.fails(flaw.unwrap_or_else(|| Reason::new("the request has no recipients"))));
        }
        if let Some(forgotten) = flaw.as_ref().filter(|_| read.status.is_fanned_out())
            && !self.knew_as_unknown(request, &chunk).await?
        {
            return Ok(attempt.fails(forgotten.clone()));
        }
        let writer = Writer::open(&self.templates, request, from.template).await?;
        let mut pairs = self.resolve(request, &chunk, &writer);
        let headers = &attempt.claimed.message.headers;
        let asked = |pair: &(_, Option<NotificationMessage>)| pair.1.as_ref().map(Question::of);
        let questions = match &self.consents {
            Some(_) => pairs.iter().map(asked).collect(),
            None => Vec::new(),
        };
        let items = take_out(&self.digests, request, &chunk.known, &mut pairs);
        let (records, messages): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let end = if chunk.next.is_some() { FanOutEnd::More } else { FanOutEnd::Done };
        let enqueued = |message: Option<NotificationMessage>| {
            message.map(|message| child(delivery_message_of(&message, &end), headers)).transpose()
        };
        let messages = messages.into_iter().map(enqueued).collect::<Result<_, _>>()?;
        // The next step stays in the queue of this one, and so in its priority.
        let queue = &attempt.claimed.message.queue;
        let next = chunk.next.map(|next| next.with_template(writer.version()));
        let next = next.map(|next| child(fan_out_message(&next), headers)).transpose()?;
        let next = next.map(|next| NewMessage { queue: queue.clone(), ..next });
        let then = Then::Send { messages, refused: HashSet::new(), next: next.map(Box::new) };
        Ok(FanOutResult { attempt, end, flaw, records, items, questions, then })
    }

    /// Every combination of a recipient of the chunk and a channel of the request, with its message if there is one.
    fn resolve(
        &self,
        request: &NotificationRequest,
        chunk: &Chunk,
        writer: &Writer<'_>,
    ) -> Vec<(NotificationRecord, Option<NotificationMessage>)> {
        let link = |recipient: &Recipient, channel| {
            self.consents.as_ref()?.link(recipient, channel, request.category.as_ref())
        };
        let mut pairs = fan_out(request, &chunk.known, |recipient, channel| {
            let link = link(recipient, channel);
            writer.write(recipient, channel, link.as_deref()).map(|content| (content, link))
        });
        let unreached = chunk.unknown_to(request).chain(chunk.unreadable_to(request));
        let unreached = unreached.chain(chunk.unknown_segments_to(request));
        pairs.extend(unreached.map(|record| (record, None)));
        pairs
    }

    /// Whether the segments of the chunk that the directory does not know were unknown when the request was dispatched.
    /// If not, it has forgotten them, and with them recipients whose messages are recorded and may not be enqueued yet.
    async fn knew_as_unknown(
        &self,
        request: &NotificationRequest,
        chunk: &Chunk,
    ) -> Result<bool, StoreError> {
        let ids: Vec<_> = chunk.unknown_segments_to(request).map(|record| record.id).collect();
        Ok(self.messages.status(&ids).await?.iter().all(Option::is_some))
    }

    /// Another attempt, or the end of the request with its last one.
    fn put_off<'a>(
        &self,
        attempt: FanOutAttempt<'a>,
        error: &StoreError,
        verdicts: &dyn Verdicts,
    ) -> Option<FanOutResult<'a>> {
        let (request, number) = (attempt.request(), attempt.claimed.attempt);
        let (operation, kind) = (error.operation(), error.kind());
        tracing::warn!(%request, attempt = number, operation, %kind, "notification.request.put_off");
        self.comes_again(attempt, Reason::new(error), verdicts)
    }

    fn comes_again<'a>(
        &self,
        attempt: FanOutAttempt<'a>,
        reason: Reason,
        verdicts: &dyn Verdicts,
    ) -> Option<FanOutResult<'a>> {
        if self.config.retry.is_last(attempt.claimed.attempt) {
            return Some(attempt.is_given_up(reason));
        }
        verdicts.give(attempt.index, Verdict::Nack { after: None, reason });
        None
    }
}

#[async_trait]
impl BatchHandler for RequestHandler {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let mut checkpoints: Vec<(usize, &Claimed, FanOut)> = Vec::new();
        for (index, claimed) in batch.iter().enumerate() {
            match serde_json::from_slice(claimed.message.payload.bytes()) {
                Ok(checkpoint) => checkpoints.push((index, claimed, checkpoint)),
                Err(e) => {
                    let why = format_args!("the payload is not a fan-out checkpoint: {e}");
                    verdicts.give(index, Verdict::bury(why));
                }
            }
        }
        let attempts = checkpoints.iter();
        let attempts: Vec<_> = attempts
            .map(|(index, claimed, checkpoint)| FanOutAttempt {
                index: *index,
                claimed,
                checkpoint,
                takes_up: false,
                erased_places: 0,
            })
            .collect();
        if attempts.is_empty() {
            return;
        }
        let read = |ids: Vec<_>| async move { self.requests.read(&ids).await };
        let give_back = |attempt: &_, error: &_| give_back(attempt, error, verdicts);
        let read = read_each(attempts, FanOutAttempt::request, read, give_back).await;
        let works = read.into_iter().map(|(attempt, read)| self.attempt(attempt, read, verdicts));
        let works: Vec<_> = works.collect();
        Self::GROUPS.run(works, FanOutResult::rows, |group| self.note(group, verdicts)).await;
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
