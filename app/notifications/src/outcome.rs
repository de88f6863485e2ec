use claimstream_domain::{
    Claimed, Reason, Verdict,
    notification::{DeliveryStatus, NotificationMessage},
};
use claimstream_ports::{
    StoreError,
    notification::{Delivered, MessageOutcome},
};

/// The longest reference of a provider that is kept, in bytes.
pub(super) const MAX_REFERENCE_BYTES: usize = 255;

/// What became of a message and is noted before its verdict is given.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) attempt: Attempt<'a>,
    pub(super) ending: Ending,
}

/// An attempt at a message of a batch.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    /// Which one of the batch it is.
    pub(super) index: usize,
    pub(super) claimed: &'a Claimed,
    pub(super) message: NotificationMessage,
}

/// How an attempt has ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// A provider took the message.
    Delivered(Delivered),
    /// It refused it for good.
    Refused(Reason),
    /// There is no attempt left.
    GivenUp(Reason),
}

impl Outcome<'_> {
    /// What is noted.
    pub(super) fn to_note(&self) -> MessageOutcome {
        let id = self.attempt.message.id;
        match &self.ending {
            Ending::Delivered(by) => {
                let reference = by.reference.as_deref().map(cut).map(str::to_owned);
                MessageOutcome { id, status: DeliveryStatus::Delivered, reason: None, reference }
            }
            Ending::Refused(reason) | Ending::GivenUp(reason) => {
                let reason = Some(reason.clone());
                MessageOutcome { id, status: DeliveryStatus::Failed, reason, reference: None }
            }
        }
    }

    /// The verdict once it is noted, or could not be. A message that is given up comes once more if its end could not be noted
    /// and the attempt after the `max_attempts` is left.
    pub(super) fn verdict(self, noted: Result<(), &StoreError>, max_attempts: u32) -> Verdict {
        self.trace(noted.is_ok());
        match (self.ending, noted) {
            (Ending::Delivered(_), Ok(())) => Verdict::ack(),
            (Ending::Delivered(_), Err(error)) => {
                Verdict::nack(format_args!("delivered, but this could not be noted: {error}"))
            }
            (Ending::GivenUp(reason), Err(_)) if self.attempt.claimed.attempt > max_attempts => {
                Verdict::Bury { reason }
            }
            (Ending::Refused(reason) | Ending::GivenUp(reason), Ok(())) => Verdict::Bury { reason },
            (Ending::Refused(reason) | Ending::GivenUp(reason), Err(error)) => {
                Verdict::nack(format_args!("{reason}; this could not be noted: {error}"))
            }
        }
    }

    fn trace(&self, recorded: bool) {
        let Attempt { claimed, message, .. } = &self.attempt;
        let (message_id, request, channel, attempt) =
            (message.id, message.request_id, message.channel, claimed.attempt);
        match &self.ending {
            Ending::Delivered(_) => {
                tracing::info!(%message_id, %request, %channel, attempt, recorded, "notification.message.delivered");
            }
            Ending::Refused(_) => {
                tracing::warn!(%message_id, %request, %channel, attempt, recorded, "notification.message.refused");
            }
            Ending::GivenUp(_) => {
                tracing::error!(%message_id, %channel, attempt, recorded, "notification.message.given_up");
            }
        }
    }
}

fn cut(reference: &str) -> &str {
    &reference[..reference.floor_char_boundary(MAX_REFERENCE_BYTES)]
}
