mod asking;
mod digesting;
mod noting;
mod restoring;
mod suppressing;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, Doubt, Invalid, Reason, Verdict,
    notification::{
        AnswerClass, DeliveryReceipt, DeliveryStatus, NotificationMessage, consent::Consent,
        provider::ProviderName,
    },
};
use claimstream_ports::{
    BatchHandler, Handler, StoreError, Verdicts,
    notification::{AttemptLog, MessageRepository, Suppressions},
};
use tracing::Instrument;
use uuid::Uuid;

use super::{
    MessageConfig, Providers,
    alone::alone,
    consents::{Consents, quiet},
    digests::Digests,
    groups::Groups,
    outcome::{AttemptEnd, AttemptOutcome, MessageAttempt},
    routing::{DeliveryEnd, ProviderCall},
};

/// Hands messages of the queue [`MESSAGE_QUEUE`](super::MESSAGE_QUEUE) to their providers.
///
/// * A message whose record is delivered, skipped or taken back is acked without a delivery.
/// * One whose record has failed is in the queue because it was revived, or because it was refused and its burial was lost.
///   It is delivered again while attempts are left, and goes to the dead letters after that. If its request was cancelled it ends as
///   cancelled.
/// * A message without a record, which a server that took over without the last commits may lack, has its record restored first, so that
///   its request comes to an end.
/// * A message that comes after its request's `expires_at` is noted as skipped, without a delivery.
/// * What the provider takes is noted as delivered; what it refuses for good is noted as failed and buried. An address that it refuses for good is
///   suppressed, if there are [suppressions](Self::with_suppressions).
/// * What fails for the time being comes again, no earlier than the provider asks for; when the last allowed
///   attempt fails or is cut off it is noted as failed, in step with its dead letter.
/// * While its record cannot be read, the message is given back and no attempt is counted.
///
/// A message that was delivered and could not be noted comes again under the same id: delivery is at least once.
///
/// The messages of a batch share statements: one reads where all of them stand, deliveries run at the same time, and the
/// outcomes of those that have ended are noted together. All of a batch are delivered at once, so the pipeline bounds how many:
/// with `BatchPipeline::at_once` a slow delivery takes one place and holds up no other. A provider that panics has failed for that
/// message only. As a [`Handler`] it takes each message as a batch of its own.
pub struct MessageHandler {
    messages: Arc<dyn MessageRepository>,
    providers: Providers,
    config: MessageConfig,
    attempt_log: Option<Arc<dyn AttemptLog>>,
    consents: Option<Consents>,
    digests: Option<Digests>,
    suppressions: Option<Arc<dyn Suppressions>>,
}

impl MessageHandler {
    /// The longest reference of a provider that is kept, in bytes; longer ones are cut.
    pub const MAX_REFERENCE_BYTES: usize = DeliveryReceipt::MAX_REFERENCE_BYTES;
    /// At most so many outcomes are noted together.
    const GROUPS: Groups = Groups { rows: 1_000 };

    /// A handler on these ports; refuses what [`MessageConfig::check`] refuses.
    pub fn new(
        messages: Arc<dyn MessageRepository>,
        providers: Providers,
        config: MessageConfig,
    ) -> Result<Self, Invalid> {
        config.check()?;
        let (attempt_log, consents, digests, suppressions) = (None, None, None, None);
        Ok(Self { messages, providers, config, attempt_log, consents, digests, suppressions })
    }

    /// Notes every attempt in this log, by one call for all that are noted together. A message that a provider may have accepted stays
    /// with that provider at later attempts, also in other processes; without the log only reasons say so.
    pub fn with_attempt_log(self, log: Arc<dyn AttemptLog>) -> Self {
        Self { attempt_log: Some(log), ..self }
    }

    /// The same handler, which asks recipients' preferences once more before it delivers.
    pub fn with_consents(self, consents: Consents) -> Self {
        Self { consents: Some(consents), ..self }
    }

    /// The same handler, which delivers digests too; without this they are put off.
    pub fn with_digests(self, digests: Digests) -> Self {
        Self { digests: Some(digests), ..self }
    }

    /// The same handler, which suppresses an address that a provider refuses for good. A message whose address cannot be suppressed for the
    /// time being is tried again.
    pub fn with_suppressions(self, suppressions: Arc<dyn Suppressions>) -> Self {
        Self { suppressions: Some(suppressions), ..self }
    }

    /// One attempt; what becomes of it is noted later, or its verdict is given at once.
    async fn attempt<'a>(
        &self,
        attempt: MessageAttempt<'a>,
        status: Result<Option<DeliveryStatus>, StoreError>,
        verdicts: &dyn Verdicts,
    ) -> Option<AttemptOutcome<'a>> {
        let (message_id, is_over) =
            (attempt.message.id, attempt.claimed.attempt > self.config.retry.max_attempts);
        match status {
            Ok(None | Some(DeliveryStatus::Pending)) if attempt.is_expired => {
                Some(AttemptOutcome { attempt, ending: AttemptEnd::Expired, calls: Vec::new() })
            }
            Ok(None | Some(DeliveryStatus::Pending)) if is_over => {
                let ending = AttemptEnd::GivenUp(unended(attempt.claimed));
                Some(AttemptOutcome { attempt, ending, calls: Vec::new() })
            }
            Ok(None | Some(DeliveryStatus::Pending)) => self.deliver_with_consent(attempt, verdicts).await,
            Ok(Some(
                status @ (DeliveryStatus::Delivered | DeliveryStatus::Skipped | DeliveryStatus::Cancelled),
            )) => {
                tracing::debug!(%message_id, %status, "notification.message.ignored");
                verdicts.give(attempt.index, Verdict::ack());
                None
            }
            Ok(Some(DeliveryStatus::Failed)) if is_over => {
                tracing::warn!(%message_id, "notification.message.buried");
                let why = "the message was given up before, and no attempt is left; revive it to try again";
                verdicts.give(attempt.index, Verdict::bury(why));
                None
            }
            Ok(Some(DeliveryStatus::Failed)) => self.take_up(attempt, verdicts).await,
            Err(error) => self.put_off(attempt, Vec::new(), None, Reason::new(error), verdicts),
        }
    }

    /// Delivers a message that was given up and is in the queue again, unless it comes too late or its request was cancelled: however
    /// often a process died over it since its revival, no attempt was made.
    async fn take_up<'a>(
        &self,
        attempt: MessageAttempt<'a>,
        verdicts: &dyn Verdicts,
    ) -> Option<AttemptOutcome<'a>> {
        tracing::debug!(message_id = %attempt.message.id, "notification.message.taken_up");
        match self.reopen(attempt.message.id).await {
            Ok(DeliveryStatus::Cancelled | DeliveryStatus::Delivered | DeliveryStatus::Skipped) => {
                verdicts.give(attempt.index, Verdict::ack());
                None
            }
            Ok(_) if attempt.is_expired => {
                Some(AttemptOutcome { attempt, ending: AttemptEnd::Expired, calls: Vec::new() })
            }
            Ok(_) => self.deliver_with_consent(attempt, verdicts).await,
            Err(error) if error.is_about_the_store() => {
                give_back(&attempt, &error, verdicts);
                None
            }
            Err(error) => self.put_off(attempt, Vec::new(), None, Reason::new(error), verdicts),
        }
    }

    /// Where a message stands that has failed and is to be delivered again.
    async fn reopen(&self, message: Uuid) -> Result<DeliveryStatus, StoreError> {
        let status = self.messages.reopen(message).await?.unwrap_or(DeliveryStatus::Pending);
        if status == DeliveryStatus::Cancelled {
            tracing::info!(message_id = %message, "notification.message.cancelled");
        }
        Ok(status)
    }

    /// Delivers a message unless its recipient is not to get it, or not now: waiting for the morning costs no attempt.
    async fn deliver_with_consent<'a>(
        &self,
        attempt: MessageAttempt<'a>,
        verdicts: &dyn Verdicts,
    ) -> Option<AttemptOutcome<'a>> {
        match &attempt.consent {
            Consent::No(refusal) => {
                let ending = AttemptEnd::Skipped(Reason::new(refusal));
                Some(AttemptOutcome { attempt, ending, calls: Vec::new() })
            }
            Consent::After(wait) => {
                tracing::debug!(message_id = %attempt.message.id, wait_seconds = wait.as_secs_f64(), "notification.message.quiet");
                verdicts.give(attempt.index, Verdict::Postpone { after: *wait, reason: quiet() });
                None
            }
            Consent::Now => self.deliver(attempt, verdicts).await,
        }
    }

    async fn deliver<'a>(
        &self,
        attempt: MessageAttempt<'a>,
        verdicts: &dyn Verdicts,
    ) -> Option<AttemptOutcome<'a>> {
        if let Some(why) = attempt.digest.as_ref().and_then(|digest| digest.unwritten.clone()) {
            return Some(AttemptOutcome { attempt, ending: AttemptEnd::Refused(why), calls: Vec::new() });
        }
        let span = tracing::debug_span!(
            "deliver",
            message_id = %attempt.message.id,
            attempt = attempt.claimed.attempt,
            traceparent = attempt.claimed.message.headers.get("traceparent"),
        );
        let in_doubt: Vec<ProviderName> =
            attempt.doubt.names().filter_map(|name| name.parse().ok()).collect();
        let delivery = self.providers.deliver(&attempt.message, &in_doubt).instrument(span).await;
        let calls = delivery.calls;
        let ending = match delivery.end {
            DeliveryEnd::Delivered(delivered) => AttemptEnd::Delivered(delivered),
            DeliveryEnd::Failed(refusal) if refusal.answer().class == AnswerClass::Permanent => {
                let reason = Reason::new(&refusal);
                if let Some(suppression) = refusal.suppresses()
                    && let Err(error) = self.suppress(&attempt.message, suppression, &reason).await
                {
                    let reason = format_args!("{reason}; its address could not be suppressed: {error}");
                    return self.put_off(attempt, calls, None, Reason::new(reason), verdicts);
                }
                AttemptEnd::Refused(reason)
            }
            DeliveryEnd::Failed(passing) => {
                let (after, reason) = (passing.retry_after(), Reason::new(&passing));
                return self.put_off(attempt, calls, after, reason, verdicts);
            }
            DeliveryEnd::NoRoom { after, reason } => {
                tracing::debug!(message_id = %attempt.message.id, after_seconds = after.as_secs_f64(), %reason, "notification.message.postponed");
                verdicts.give(attempt.index, Verdict::Postpone { after, reason });
                return None;
            }
        };
        Some(AttemptOutcome { attempt, ending, calls })
    }

    /// Another attempt, or the end of the message with its last one.
    fn put_off<'a>(
        &self,
        attempt: MessageAttempt<'a>,
        calls: Vec<ProviderCall>,
        after: Option<Duration>,
        reason: Reason,
        verdicts: &dyn Verdicts,
    ) -> Option<AttemptOutcome<'a>> {
        let (message_id, channel) = (attempt.message.id, attempt.message.channel);
        let number = attempt.claimed.attempt;
        tracing::warn!(%message_id, %channel, attempt = number, after_seconds = after.map(|after| after.as_secs_f64()), "notification.message.put_off");
        if self.config.retry.is_last(number) {
            return Some(AttemptOutcome { attempt, ending: AttemptEnd::GivenUp(reason), calls });
        }
        let after = after.map(|asked| self.no_earlier_than(asked, attempt.claimed));
        if calls.is_empty() {
            verdicts.give(attempt.index, Verdict::Nack { after, reason });
            return None;
        }
        Some(AttemptOutcome { attempt, ending: AttemptEnd::PutOff { after, reason }, calls })
    }

    /// The wait a provider asks for, but never less than the retry policy's.
    fn no_earlier_than(&self, asked: Duration, claimed: &Claimed) -> Duration {
        let seed = claimed.message.id.seed(claimed.attempt);
        asked.max(self.config.retry.delay(claimed.attempt, seed))
    }
}

#[async_trait]
impl BatchHandler for MessageHandler {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let mut attempts = Vec::new();
        for (index, claimed) in batch.iter().enumerate() {
            match serde_json::from_slice::<NotificationMessage>(claimed.message.payload.bytes()) {
                Ok(mut message) => {
                    message.traceparent = claimed.message.headers.get("traceparent").map(str::to_owned);
                    let consent = Consent::Now;
                    let (is_expired, digest) = (false, None);
                    let doubt = Doubt::in_reason(claimed.last_error.as_ref());
                    attempts.push(MessageAttempt {
                        index,
                        claimed,
                        message,
                        is_expired,
                        consent,
                        digest,
                        doubt,
                    });
                }
                Err(e) => {
                    let why = format_args!("the payload is not a notification message: {e}");
                    verdicts.give(index, Verdict::bury(why));
                }
            }
        }
        let attempts = self.find_expired(attempts, verdicts).await;
        let attempts = self.ask(attempts, verdicts).await;
        if attempts.is_empty() {
            return;
        }
        let read = self.read(attempts, verdicts).await;
        let (digests, read): (Vec<_>, Vec<_>) =
            read.into_iter().partition(|(attempt, _)| attempt.message.digest.is_some());
        let digests = self.gather(digests, verdicts).await;
        let mut read = self.restore(read, verdicts).await;
        read.extend(digests);
        let works: Vec<_> =
            read.into_iter().map(|(attempt, status)| self.attempt(attempt, status, verdicts)).collect();
        Self::GROUPS.run(works, AttemptOutcome::rows, |outcomes| self.note(outcomes, verdicts)).await;
    }
}

#[async_trait]
impl Handler for MessageHandler {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        alone(self, claimed).await
    }
}

impl fmt::Debug for MessageHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("MessageHandler");
        all.field("providers", &self.providers).field("config", &self.config).finish_non_exhaustive()
    }
}

/// The store could not say where a message stands or take it up; nothing was delivered.
fn give_back(attempt: &MessageAttempt<'_>, error: &StoreError, verdicts: &dyn Verdicts) {
    let (message_id, number) = (attempt.message.id, attempt.claimed.attempt);
    tracing::warn!(%message_id, attempt = number, %error, "notification.message.given_back");
    verdicts.give(attempt.index, Verdict::Release);
}

/// Why there is no attempt left after one that did not come to an end.
fn unended(claimed: &Claimed) -> Reason {
    match &claimed.last_error {
        Some(last) => Reason::new(format_args!(
            "the last attempt never ended or could not be noted; last answer: {last}"
        )),
        None => Reason::new("the last attempt never ended; whether it delivered is unknown"),
    }
}
