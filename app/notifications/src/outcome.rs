use std::time::Duration;

use claimstream_domain::{
    Claimed, Doubt, Reason, Verdict,
    notification::{Acceptance, DeliveryReceipt, DeliveryStatus, NotificationMessage, consent::Consent},
};
use claimstream_ports::{
    StoreError,
    notification::{Delivered, DeliveryAttempt, MessageOutcome},
};

use uuid::Uuid;

use super::routing::ProviderCall;

/// What became of a message and is noted before its verdict is given.
#[derive(Debug)]
pub(super) struct AttemptOutcome<'a> {
    pub(super) attempt: MessageAttempt<'a>,
    pub(super) ending: AttemptEnd,
    /// The providers that were asked.
    pub(super) calls: Vec<ProviderCall>,
}

/// An attempt at a message of a batch.
#[derive(Debug)]
pub(super) struct MessageAttempt<'a> {
    /// Which one of the batch it is.
    pub(super) index: usize,
    pub(super) claimed: &'a Claimed,
    pub(super) message: NotificationMessage,
    /// Whether it comes too late to be delivered.
    pub(super) is_expired: bool,
    /// Whether its recipient is to get it.
    pub(super) consent: Consent,
    /// The messages that it stands for, if it is a digest.
    pub(super) digest: Option<Digested>,
    /// The providers that may have accepted it at earlier attempts, as the reason of the last one and the log of attempts say.
    pub(super) doubt: Doubt,
}

/// What a digest is delivered for.
#[derive(Debug)]
pub(super) struct Digested {
    /// The messages that are delivered with it.
    pub(super) items: Vec<Uuid>,
    /// Those that came too late.
    pub(super) expired: Vec<Uuid>,
    /// Why its text cannot be written.
    pub(super) unwritten: Option<Reason>,
}

/// How an attempt has ended.
#[derive(Debug)]
pub(super) enum AttemptEnd {
    /// A provider took the message.
    Delivered(Delivered),
    /// It refused it for good.
    Refused(Reason),
    /// There is no attempt left.
    GivenUp(Reason),
    /// It is tried again; nothing is noted but the attempt.
    PutOff { after: Option<Duration>, reason: Reason },
    /// It came too late to be delivered.
    Expired,
    /// Its recipient is not to get it.
    Skipped(Reason),
}

impl AttemptOutcome<'_> {
    /// What later attempts have to know of this one and cannot read in the log of attempts, which has it if it is `logged`.
    fn doubt(&self, logged: bool) -> Doubt {
        let open =
            self.calls.iter().filter(|call| !logged && call.answer.acceptance != Acceptance::NotAccepted);
        Doubt::of(open.map(|call| call.provider.as_str()))
    }

    /// What is noted of the message, or of each one of a digest; nothing if it is tried again.
    pub(super) fn to_note(&self) -> Vec<MessageOutcome> {
        let Some(end) = self.end() else { return Vec::new() };
        if self.attempt.message.digest.is_some() && self.attempt.digest.is_none() {
            // Its items could not be read: the first of them alone has no end without the others.
            return Vec::new();
        }
        let Some(Digested { items, expired, .. }) = &self.attempt.digest else { return vec![end] };
        let (id, count) = (end.id, items.len());
        let reason = match end.status {
            DeliveryStatus::Delivered => {
                Some(Reason::new(format_args!("in the digest {id}, one of {count}")))
            }
            _ => end.reason.clone(),
        };
        let of_item = |id: &Uuid| MessageOutcome { id: *id, reason: reason.clone(), ..end.clone() };
        let late = |id: &Uuid| MessageOutcome {
            id: *id,
            status: DeliveryStatus::Skipped,
            reason: Some(Reason::new("expired")),
            reference: None,
        };
        items.iter().map(of_item).chain(expired.iter().map(late)).collect()
    }

    /// How the message has ended; `None` if it is tried again.
    fn end(&self) -> Option<MessageOutcome> {
        let id = self.attempt.message.id;
        Some(match &self.ending {
            AttemptEnd::Delivered(by) => {
                let reference = kept(by);
                MessageOutcome { id, status: DeliveryStatus::Delivered, reason: None, reference }
            }
            AttemptEnd::Expired => {
                let reason = Some(Reason::new("expired"));
                MessageOutcome { id, status: DeliveryStatus::Skipped, reason, reference: None }
            }
            AttemptEnd::Skipped(reason) => {
                let reason = Some(reason.clone());
                MessageOutcome { id, status: DeliveryStatus::Skipped, reason, reference: None }
            }
            AttemptEnd::Refused(reason) | AttemptEnd::GivenUp(reason) => {
                let reason = Some(reason.clone());
                MessageOutcome { id, status: DeliveryStatus::Failed, reason, reference: None }
            }
            AttemptEnd::PutOff { .. } => return None,
        })
    }

    /// How many records it takes to note.
    pub(super) fn rows(&self) -> usize {
        self.attempt.digest.as_ref().map_or(1, |digest| digest.items.len() + digest.expired.len())
    }

    /// What is noted of the attempt, a row for each provider that was asked. They were asked one after another, and the last
    /// has just answered.
    pub(super) fn attempts(&self) -> Vec<DeliveryAttempt> {
        let MessageAttempt { claimed, message, .. } = &self.attempt;
        let (mut ago, mut attempts) = (Duration::ZERO, Vec::with_capacity(self.calls.len()));
        for (at, call) in self.calls.iter().enumerate().rev() {
            ago += call.took;
            let reason = call.reason.as_ref();
            attempts.push(DeliveryAttempt {
                message: message.id,
                claim: claimed.receipt.claim.uuid(),
                call: u32::try_from(at + 1).unwrap_or(u32::MAX),
                number: claimed.attempt,
                provider: call.provider.clone(),
                ago,
                took: call.took,
                answer: call.answer,
                reason: reason
                    .map(|reason| Reason::new(cut(reason.as_str(), DeliveryAttempt::MAX_REASON_BYTES))),
                // The last one that was asked has taken it.
                reference: match &self.ending {
                    AttemptEnd::Delivered(by) if at + 1 == self.calls.len() => kept(by),
                    _ => None,
                },
            });
        }
        attempts.reverse();
        attempts
    }

    /// The verdict once it is noted, or could not be. A message that is given up comes once more if its end could not be noted
    /// and the attempt after the `max_attempts` is left.
    pub(super) fn verdict(self, noted: Result<(), &StoreError>, logged: bool, max_attempts: u32) -> Verdict {
        self.trace(noted.is_ok());
        let doubt = self.doubt(logged);
        self.verdict_alone(noted, max_attempts).keeping(&doubt)
    }

    fn verdict_alone(self, noted: Result<(), &StoreError>, max_attempts: u32) -> Verdict {
        match (self.ending, noted) {
            (AttemptEnd::PutOff { after, reason }, _) => Verdict::Nack { after, reason },
            (AttemptEnd::Delivered(_) | AttemptEnd::Expired | AttemptEnd::Skipped(_), Ok(())) => {
                Verdict::ack()
            }
            (AttemptEnd::Expired, Err(error)) => {
                Verdict::nack(format_args!("expired, but this could not be noted: {error}"))
            }
            (AttemptEnd::Delivered(_), Err(error)) => {
                Verdict::nack(format_args!("delivered, but this could not be noted: {error}"))
            }
            (AttemptEnd::GivenUp(reason), Err(_)) if self.attempt.claimed.attempt > max_attempts => {
                Verdict::Bury { reason }
            }
            (AttemptEnd::Refused(reason) | AttemptEnd::GivenUp(reason), Ok(())) => Verdict::Bury { reason },
            (
                AttemptEnd::Refused(reason) | AttemptEnd::GivenUp(reason) | AttemptEnd::Skipped(reason),
                Err(error),
            ) => Verdict::nack(format_args!("{reason}; this could not be noted: {error}")),
        }
    }

    fn trace(&self, recorded: bool) {
        let MessageAttempt { claimed, message, .. } = &self.attempt;
        let (message_id, request, channel, attempt) =
            (message.id, message.request_id, message.channel, claimed.attempt);
        match &self.ending {
            AttemptEnd::Delivered(_) => {
                tracing::debug!(%message_id, %request, %channel, attempt, recorded, "notification.message.delivered");
            }
            AttemptEnd::Expired => {
                tracing::debug!(%message_id, %request, %channel, attempt, recorded, "notification.message.expired");
            }
            AttemptEnd::Skipped(_) => {
                tracing::debug!(%message_id, %request, %channel, attempt, recorded, "notification.message.skipped");
            }
            AttemptEnd::Refused(_) => {
                tracing::warn!(%message_id, %request, %channel, attempt, recorded, "notification.message.refused");
            }
            AttemptEnd::PutOff { .. } => {}
            AttemptEnd::GivenUp(_) => {
                tracing::error!(%message_id, %channel, attempt, recorded, "notification.message.given_up");
            }
        }
    }
}

/// The provider's name for a delivery, as it is kept.
fn kept(by: &Delivered) -> Option<String> {
    let reference = by.reference.as_deref().filter(|reference| !reference.is_empty())?;
    Some(cut(reference, DeliveryReceipt::MAX_REFERENCE_BYTES).to_owned())
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
