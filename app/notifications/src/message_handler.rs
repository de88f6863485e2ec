use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{Claimed, Invalid, Reason, Verdict, notification::DeliveryStatus};
use claimstream_ports::{
    BatchHandler, Handler, StoreError, Verdicts,
    notification::{DeliveryError, MessageRepository},
};
use tracing::Instrument;

use super::{
    MessageConfig, Providers,
    alone::alone,
    groups::Groups,
    outcome::{Attempt, Ending, MAX_REFERENCE_BYTES, Outcome},
    reading::read_each,
    unwinding::unwinding,
};

/// Hands messages of the queue [`MESSAGE_QUEUE`](super::MESSAGE_QUEUE) to their providers.
///
/// * A message whose record is delivered or skipped is acked without a second delivery.
/// * One whose record has failed is in the queue because it was revived, or because it was refused and its burial was lost.
///   It is delivered again while attempts are left, and goes to the dead letters after that.
/// * What the provider takes is noted as delivered; what it refuses for good is noted as failed and buried.
/// * What fails for the time being comes again, no earlier than the provider asks for; when the last allowed
///   attempt fails or is cut off it is noted as failed, in step with its dead letter.
/// * While its record cannot be read, the message is given back and no attempt is counted.
///
/// A message that was delivered and could not be noted comes again under the same id: delivery is at least once.
///
/// The messages of a batch share statements: one reads where all of them stand, deliveries run beside each other, and the
/// outcomes of those that have ended are noted together. All of a batch are delivered at once, so the pipeline bounds how many:
/// with `BatchPipeline::at_once` a slow delivery takes one place and holds up no other. A provider that panics has failed for that
/// message only. As a [`Handler`] it takes each message as a batch of its own.
pub struct MessageHandler {
    messages: Arc<dyn MessageRepository>,
    providers: Providers,
    config: MessageConfig,
}

impl MessageHandler {
    /// The longest reference of a provider that is kept, in bytes; longer ones are cut.
    pub const MAX_REFERENCE_BYTES: usize = MAX_REFERENCE_BYTES;
    /// At most so many outcomes are noted together.
    const GROUPS: Groups = Groups { rows: 1_000 };

    /// A handler on these ports; refuses what [`MessageConfig::check`] refuses.
    pub fn new(
        messages: Arc<dyn MessageRepository>,
        providers: Providers,
        config: MessageConfig,
    ) -> Result<Self, Invalid> {
        config.check()?;
        Ok(Self { messages, providers, config })
    }

    /// One attempt; what becomes of it is noted later, or its verdict is given at once.
    async fn attempt<'a>(
        &self,
        attempt: Attempt<'a>,
        status: Result<Option<DeliveryStatus>, StoreError>,
        verdicts: &dyn Verdicts,
    ) -> Option<Outcome<'a>> {
        let (message_id, is_over) =
            (attempt.message.id, attempt.claimed.attempt > self.config.retry.max_attempts);
        match status {
            Ok(None | Some(DeliveryStatus::Pending)) if is_over => {
                let ending = Ending::GivenUp(unended(attempt.claimed));
                Some(Outcome { attempt, ending })
            }
            Ok(None | Some(DeliveryStatus::Pending)) => self.deliver(attempt, verdicts).await,
            Ok(Some(status @ (DeliveryStatus::Delivered | DeliveryStatus::Skipped))) => {
                tracing::info!(%message_id, %status, "notification.message.ignored");
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
            Err(error) => self.put_off(attempt, None, Reason::new(error), verdicts),
        }
    }

    /// Delivers a message that was given up and is in the queue again: however often a process died over it since its
    /// revival, nobody has tried it.
    async fn take_up<'a>(&self, attempt: Attempt<'a>, verdicts: &dyn Verdicts) -> Option<Outcome<'a>> {
        tracing::info!(message_id = %attempt.message.id, "notification.message.taken_up");
        match self.messages.reopen(attempt.message.id).await {
            Ok(()) => self.deliver(attempt, verdicts).await,
            Err(error) if error.is_about_the_store() => {
                give_back(&attempt, &error, verdicts);
                None
            }
            Err(error) => self.put_off(attempt, None, Reason::new(error), verdicts),
        }
    }

    async fn deliver<'a>(&self, attempt: Attempt<'a>, verdicts: &dyn Verdicts) -> Option<Outcome<'a>> {
        let span = tracing::debug_span!(
            "deliver",
            message_id = %attempt.message.id,
            attempt = attempt.claimed.attempt,
            traceparent = attempt.claimed.message.headers.get("traceparent"),
        );
        let ending = match unwinding(self.providers.deliver(&attempt.message)).instrument(span).await {
            Err(panicked) => return self.put_off(attempt, None, panicked, verdicts),
            Ok(Ok(delivered)) => Ending::Delivered(delivered),
            Ok(Err(DeliveryError::Permanent { reason })) => Ending::Refused(Reason::new(reason)),
            Ok(Err(DeliveryError::Transient { reason, retry_after })) => {
                return self.put_off(attempt, retry_after, Reason::new(reason), verdicts);
            }
        };
        Some(Outcome { attempt, ending })
    }

    /// Another attempt, or the end of the message with its last one.
    fn put_off<'a>(
        &self,
        attempt: Attempt<'a>,
        after: Option<Duration>,
        reason: Reason,
        verdicts: &dyn Verdicts,
    ) -> Option<Outcome<'a>> {
        let (message_id, channel) = (attempt.message.id, attempt.message.channel);
        let number = attempt.claimed.attempt;
        tracing::warn!(%message_id, %channel, attempt = number, ?after, "notification.message.put_off");
        if self.config.retry.is_last(number) {
            return Some(Outcome { attempt, ending: Ending::GivenUp(reason) });
        }
        let after = after.map(|asked| self.no_earlier_than(asked, attempt.claimed));
        verdicts.give(attempt.index, Verdict::Nack { after, reason });
        None
    }

    /// The wait a provider asks for, but never less than the retry policy's.
    fn no_earlier_than(&self, asked: Duration, claimed: &Claimed) -> Duration {
        let seed = claimed.message.id.seed(claimed.attempt);
        asked.max(self.config.retry.delay(claimed.attempt, seed))
    }

    /// Notes outcomes, and gives the verdicts on their messages. One that cannot be noted is no business of the others.
    async fn note(&self, outcomes: Vec<Outcome<'_>>, verdicts: &dyn Verdicts) {
        let to_note: Vec<_> = outcomes.iter().map(Outcome::to_note).collect();
        let noted = self.messages.conclude(&to_note).await;
        let max_attempts = self.config.retry.max_attempts;
        let apart = matches!(&noted, Err(error) if outcomes.len() > 1 && !error.is_about_the_store());
        for (outcome, to_note) in outcomes.into_iter().zip(&to_note) {
            let alone = match apart {
                true => Some(self.messages.conclude(std::slice::from_ref(to_note)).await),
                false => None,
            };
            let noted = alone.as_ref().unwrap_or(&noted).as_ref().copied();
            verdicts.give(outcome.attempt.index, outcome.verdict(noted, max_attempts));
        }
    }
}

#[async_trait]
impl BatchHandler for MessageHandler {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let mut attempts = Vec::new();
        for (index, claimed) in batch.iter().enumerate() {
            match serde_json::from_slice(claimed.message.payload.bytes()) {
                Ok(message) => attempts.push(Attempt { index, claimed, message }),
                Err(e) => {
                    let why = format_args!("the payload is not a notification message: {e}");
                    verdicts.give(index, Verdict::bury(why));
                }
            }
        }
        if attempts.is_empty() {
            return;
        }
        let status = |ids: Vec<_>| async move { self.messages.status(&ids).await };
        let give_back = |attempt: &_, error: &_| give_back(attempt, error, verdicts);
        let read = read_each(attempts, |attempt| attempt.message.id, status, give_back).await;
        let works = read.into_iter().map(|(attempt, status)| self.attempt(attempt, status, verdicts));
        let works: Vec<_> = works.collect();
        Self::GROUPS.run(works, |_| 1, |outcomes| self.note(outcomes, verdicts)).await;
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
fn give_back(attempt: &Attempt<'_>, error: &StoreError, verdicts: &dyn Verdicts) {
    let (message_id, number) = (attempt.message.id, attempt.claimed.attempt);
    tracing::warn!(%message_id, attempt = number, %error, "notification.message.given_back");
    verdicts.give(attempt.index, Verdict::Release);
}

/// Why there is no attempt left after one that did not come to an end.
fn unended(claimed: &Claimed) -> Reason {
    match &claimed.last_error {
        Some(last) => Reason::new(format_args!(
            "the last attempt never ended or could not be noted; heard last: {last}"
        )),
        None => Reason::new("the last attempt never ended; whether it delivered is unknown"),
    }
}
