use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, Invalid, Reason, RetryPolicy, Verdict,
    notification::{DeliveryStatus, NotificationMessage},
};
use claimstream_ports::{
    Handler, StoreError,
    notification::{Delivered, DeliveryError, MessageOutcome, MessageRepository},
};

use super::Providers;

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
pub struct MessageHandler {
    messages: Arc<dyn MessageRepository>,
    providers: Providers,
    config: MessageConfig,
}

/// How messages are delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageConfig {
    /// How often and after which waits a message is tried again: 30 s doubled up to 18 000 s, 11 attempts. The pipeline
    /// gets [`pipeline_retry`](Self::pipeline_retry).
    pub retry: RetryPolicy,
}

impl MessageConfig {
    /// The retry policy to give to the pipeline: [`retry`](Self::retry) and one attempt more, which does nothing but
    /// note a message as failed whose last attempt was cut off, as by a crash, or could not be noted.
    pub fn pipeline_retry(&self) -> RetryPolicy {
        self.retry.with_one_more_attempt()
    }
}

impl Default for MessageConfig {
    fn default() -> Self {
        let retry = RetryPolicy {
            base: Duration::from_secs(30),
            cap: Duration::from_secs(18_000),
            max_attempts: 11,
            ..RetryPolicy::default()
        };
        Self { retry }
    }
}

impl MessageHandler {
    /// The longest reference of a provider that is kept, in bytes; longer ones are cut.
    pub const MAX_REFERENCE_BYTES: usize = 255;

    /// A handler on these ports; refuses a retry policy that could never run.
    pub fn new(
        messages: Arc<dyn MessageRepository>,
        providers: Providers,
        config: MessageConfig,
    ) -> Result<Self, Invalid> {
        config.retry.check()?;
        Ok(Self { messages, providers, config })
    }

    async fn step(&self, claimed: &Claimed, message: &NotificationMessage) -> Verdict {
        match self.messages.status(&[message.id]).await.map(|statuses| statuses.first().copied().flatten()) {
            Ok(None | Some(DeliveryStatus::Pending)) if claimed.attempt > self.config.retry.max_attempts => {
                self.give_up(claimed, message, unended(claimed)).await
            }
            Ok(None | Some(DeliveryStatus::Pending)) => self.deliver(claimed, message).await,
            Ok(Some(status @ (DeliveryStatus::Delivered | DeliveryStatus::Skipped))) => {
                tracing::info!(message_id = %message.id, %status, "notification.message.ignored");
                Verdict::ack()
            }
            Ok(Some(DeliveryStatus::Failed)) if claimed.attempt <= self.config.retry.max_attempts => {
                self.take_up(claimed, message).await
            }
            Ok(Some(DeliveryStatus::Failed)) => {
                tracing::warn!(message_id = %message.id, "notification.message.buried");
                Verdict::bury(
                    "the message was given up before, and no attempt is left; revive it to try again",
                )
            }
            Err(error) => self.unread(claimed, message, error).await,
        }
    }

    /// The store could not say where a message stands or take it up; nothing was delivered.
    async fn unread(&self, claimed: &Claimed, message: &NotificationMessage, error: StoreError) -> Verdict {
        if !error.is_about_the_store() {
            return self.put_off(claimed, message, None, Reason::new(error)).await;
        }
        tracing::warn!(message_id = %message.id, attempt = claimed.attempt, %error, "notification.message.given_back");
        Verdict::Release
    }

    /// Delivers a message that was given up and is in the queue again: however often a process died over it since its
    /// revival, nobody has tried it.
    async fn take_up(&self, claimed: &Claimed, message: &NotificationMessage) -> Verdict {
        tracing::info!(message_id = %message.id, "notification.message.taken_up");
        match self.messages.reopen(message.id).await {
            Ok(()) => self.deliver(claimed, message).await,
            Err(error) => self.unread(claimed, message, error).await,
        }
    }

    async fn deliver(&self, claimed: &Claimed, message: &NotificationMessage) -> Verdict {
        match self.providers.deliver(message).await {
            Ok(delivered) => self.delivered(claimed, message, delivered).await,
            Err(DeliveryError::Permanent { reason }) => {
                self.refused(claimed, message, Reason::new(reason)).await
            }
            Err(DeliveryError::Transient { reason, retry_after }) => {
                self.put_off(claimed, message, retry_after, Reason::new(reason)).await
            }
        }
    }

    async fn delivered(&self, claimed: &Claimed, message: &NotificationMessage, by: Delivered) -> Verdict {
        let outcome = MessageOutcome {
            id: message.id,
            status: DeliveryStatus::Delivered,
            reason: None,
            reference: by.reference.map(cut),
        };
        let noted = self.messages.conclude(&[outcome]).await;
        tracing::info!(
            message_id = %message.id, request = %message.request_id, channel = %message.channel,
            attempt = claimed.attempt, recorded = noted.is_ok(), "notification.message.delivered"
        );
        match noted {
            Ok(()) => Verdict::ack(),
            Err(e) => Verdict::nack(format_args!("delivered, but this could not be noted: {e}")),
        }
    }

    async fn refused(&self, claimed: &Claimed, message: &NotificationMessage, reason: Reason) -> Verdict {
        let noted = self.fail(message, &reason).await;
        tracing::warn!(
            message_id = %message.id, request = %message.request_id, channel = %message.channel,
            attempt = claimed.attempt, recorded = noted.is_ok(), "notification.message.refused"
        );
        match noted {
            Ok(()) => Verdict::Bury { reason },
            Err(e) => unnoted(&reason, &e),
        }
    }

    /// Another attempt, or the end of the message with its last one.
    async fn put_off(
        &self,
        claimed: &Claimed,
        message: &NotificationMessage,
        after: Option<Duration>,
        reason: Reason,
    ) -> Verdict {
        let (attempt, channel) = (claimed.attempt, message.channel);
        tracing::warn!(message_id = %message.id, %channel, attempt, ?after, "notification.message.put_off");
        match self.config.retry.is_last(attempt) {
            true => self.give_up(claimed, message, reason).await,
            false => Verdict::Nack { after: after.map(|asked| self.no_earlier_than(asked, claimed)), reason },
        }
    }

    /// The wait a provider asks for, but never less than the retry policy's.
    fn no_earlier_than(&self, asked: Duration, claimed: &Claimed) -> Duration {
        let seed = claimed.message.id.seed(claimed.attempt);
        asked.max(self.config.retry.delay(claimed.attempt, seed))
    }

    /// The end of the message; it comes once more if that cannot be noted and the spare attempt is left.
    async fn give_up(&self, claimed: &Claimed, message: &NotificationMessage, reason: Reason) -> Verdict {
        let (attempt, channel) = (claimed.attempt, message.channel);
        let noted = self.fail(message, &reason).await;
        let recorded = noted.is_ok();
        tracing::error!(message_id = %message.id, %channel, attempt, recorded, "notification.message.given_up");
        match noted {
            Err(error) if attempt <= self.config.retry.max_attempts => unnoted(&reason, &error),
            _ => Verdict::Bury { reason },
        }
    }

    async fn fail(&self, message: &NotificationMessage, reason: &Reason) -> Result<(), StoreError> {
        let (status, reason) = (DeliveryStatus::Failed, Some(reason.clone()));
        self.messages.conclude(&[MessageOutcome { id: message.id, status, reason, reference: None }]).await
    }
}

#[async_trait]
impl Handler for MessageHandler {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        match serde_json::from_slice(claimed.message.payload.bytes()) {
            Ok(message) => self.step(claimed, &message).await,
            Err(e) => Verdict::bury(format_args!("the payload is not a notification message: {e}")),
        }
    }
}

impl fmt::Debug for MessageHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("MessageHandler");
        all.field("providers", &self.providers).field("config", &self.config).finish_non_exhaustive()
    }
}

/// Another attempt, because a record could not be brought in step with what happened.
fn unnoted(reason: &Reason, error: &StoreError) -> Verdict {
    Verdict::nack(format_args!("{reason}; this could not be noted: {error}"))
}

/// Why there is no attempt left after one that did not come to an end.
fn unended(claimed: &Claimed) -> Reason {
    let why = "the last attempt never ended; whether it delivered is unknown";
    match &claimed.last_error {
        Some(last) => Reason::new(format_args!(
            "the last attempt never ended or could not be noted; heard last: {last}"
        )),
        None => Reason::new(why),
    }
}

fn cut(mut reference: String) -> String {
    reference.truncate(reference.floor_char_boundary(MessageHandler::MAX_REFERENCE_BYTES));
    reference
}
