use std::collections::HashSet;

use claimstream_domain::{
    Claimed, Due, Headers, Invalid, NewMessage, Reason, Verdict,
    notification::{
        DeliveryStatus, FanOut, FanOutEnd, NotificationRecord, RequestStatus, consent::Consent,
        digest::NewDigestItem,
    },
};
use claimstream_ports::{
    StoreError, StoreErrorKind, Verdicts,
    notification::{FanOutStep, MessageOutcome, StepNoted},
};
use uuid::Uuid;

use super::question::Question;

/// An attempt at a step of a fan-out, one of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct FanOutAttempt<'a> {
    /// Which one of the batch it is.
    pub(super) index: usize,
    pub(super) claimed: &'a Claimed,
    pub(super) checkpoint: &'a FanOut,
    /// Whether the request has failed and is taken up.
    pub(super) takes_up: bool,
    /// In how many places of the request a recipient was erased when it was read.
    pub(super) erased_places: usize,
}

/// What an attempt came to; it is noted before its verdict is given.
#[derive(Debug)]
pub(super) struct FanOutResult<'a> {
    pub(super) attempt: FanOutAttempt<'a>,
    pub(super) end: FanOutEnd,
    /// What of the request can never be carried out.
    pub(super) flaw: Option<Reason>,
    pub(super) records: Vec<NotificationRecord>,
    /// The messages of its records that wait for a digest.
    pub(super) items: Vec<NewDigestItem>,
    /// What is asked before the records with a message are noted: one place for each record, or none at all.
    pub(super) questions: Vec<Option<Question>>,
    pub(super) then: Then,
}

/// What follows when it is noted.
#[derive(Debug)]
pub(super) enum Then {
    /// The messages of the records, where there are any, and the next step are enqueued.
    Send {
        messages: Vec<Option<NewMessage>>,
        /// The records whose recipients are not to get them.
        refused: HashSet<Uuid>,
        next: Option<Box<NewMessage>>,
    },
    /// The request has failed, and that is all.
    Fail,
    /// The message of the step goes to the dead letters.
    Bury(Reason),
}

impl<'a> FanOutAttempt<'a> {
    pub(super) fn request(&self) -> Uuid {
        self.checkpoint.request
    }

    /// The end of a request that can never be fanned out.
    pub(super) fn fails(self, why: Reason) -> FanOutResult<'a> {
        let end = FanOutEnd::Failed(why);
        Self::ends(self, end, Then::Fail)
    }

    /// The end of a request that has no attempt left.
    pub(super) fn is_given_up(self, why: Reason) -> FanOutResult<'a> {
        let end = FanOutEnd::Failed(why.clone());
        Self::ends(self, end, Then::Bury(why))
    }

    fn ends(self, end: FanOutEnd, then: Then) -> FanOutResult<'a> {
        let (records, items, questions) = (Vec::new(), Vec::new(), Vec::new());
        FanOutResult { attempt: self, end, flaw: None, records, items, questions, then }
    }
}

impl<'a> FanOutResult<'a> {
    /// What is noted, and what is left to do then.
    pub(super) fn into_step(self) -> (FanOutStep, (FanOutAttempt<'a>, Then)) {
        let Self { attempt, end, flaw, records, items, questions: _, then } = self;
        let FanOutAttempt { takes_up, erased_places, .. } = attempt;
        let request = attempt.request();
        let step = FanOutStep { request, end, takes_up, erased_places, flaw, records, items };
        (step, (attempt, then))
    }

    /// The way back.
    pub(super) fn of_step((step, (attempt, then)): (FanOutStep, (FanOutAttempt<'a>, Then))) -> Self {
        let FanOutStep { end, flaw, records, items, .. } = step;
        Self { attempt, end, flaw, records, items, questions: Vec::new(), then }
    }

    /// Takes the answers to its questions: what is refused is skipped, what has to wait is due later.
    pub(super) fn heed(&mut self, answers: &mut impl Iterator<Item = Consent>) {
        let questions = std::mem::take(&mut self.questions);
        let Then::Send { messages, refused, .. } = &mut self.then else { return };
        let asked =
            self.records.iter_mut().zip(messages).zip(questions).filter(|(_, question)| question.is_some());
        for (((record, message), _), answer) in asked.zip(answers) {
            match answer {
                Consent::Now => {}
                Consent::After(wait) => match (message, item_of(&mut self.items, record.id)) {
                    (Some(message), _) => message.due = Due::After(wait),
                    (None, Some(item)) => item.window = item.window.max(wait),
                    (None, None) => {}
                },
                Consent::No(refusal) => {
                    *message = None;
                    self.items.retain(|new| new.item.message.id != record.id);
                    refused.insert(record.id);
                    (record.status, record.reason) = (DeliveryStatus::Skipped, Some(Reason::new(refusal)));
                }
            }
        }
    }

    /// How many rows it takes to note.
    pub(super) fn rows(&self) -> usize {
        1 + self.records.len() + self.items.len()
    }

    /// Records that an earlier attempt found sendable and this one does not, as when a template went missing in between, or the
    /// recipient opted out;
    /// they would be pending for ever.
    pub(super) fn lapsed(&self, noted: &StepNoted) -> Vec<MessageOutcome> {
        let Then::Send { messages, refused, .. } = &self.then else { return Vec::new() };
        let kept: HashSet<Uuid> = self.items.iter().map(|new| new.item.message.id).collect();
        let pairs = self.records.iter().zip(messages).zip(&noted.records);
        let pairs = pairs.filter(|((record, _), _)| !kept.contains(&record.id));
        let lapsed = pairs.filter(|((_, message), status)| message.is_none() && is_pending(status));
        let outcome = |((record, _), _): ((&NotificationRecord, _), _)| MessageOutcome {
            id: record.id,
            status: match refused.contains(&record.id) {
                true => DeliveryStatus::Skipped,
                false => DeliveryStatus::Failed,
            },
            reason: record.reason.clone(),
            reference: None,
        };
        lapsed.map(outcome).collect()
    }

    /// The verdict when it is noted.
    pub(super) fn verdict(self, noted: StepNoted, is_last: bool) -> Verdict {
        let (request, attempt, from) =
            (self.attempt.request(), self.attempt.claimed.attempt, self.attempt.checkpoint);
        if noted.outdated {
            tracing::debug!(%request, attempt, "notification.request.read_again");
            return Verdict::Release;
        }
        match (self.then, noted.status) {
            (Then::Bury(reason), _) => {
                tracing::error!(%request, attempt, recorded = true, "notification.request.given_up");
                Verdict::Bury { reason }
            }
            (_, None) => ignored(request, "UNKNOWN"),
            (_, Some(status @ RequestStatus::Cancelled)) => ignored(request, status.name()),
            (Then::Send { messages, next, .. }, Some(status)) if status.has_messages() => {
                let (records, finished) = (messages.len(), next.is_none());
                let open = messages.into_iter().zip(&noted.records).filter(|(_, status)| is_pending(status));
                let mut emit: Vec<NewMessage> = open.filter_map(|(message, _)| message).collect();
                tracing::debug!(
                    %request, reference = from.reference, after = from.place.key(), records,
                    messages = emit.len(), finished, "notification.request.fanned_out"
                );
                emit.extend(next.map(|next| *next));
                Verdict::Ack { emit }
            }
            (Then::Send { .. }, Some(status)) => {
                tracing::warn!(%request, attempt, %status, "notification.request.overtaken");
                Verdict::nack(format_args!("the request is {status} meanwhile"))
            }
            (Then::Fail, Some(RequestStatus::Failed)) => {
                tracing::warn!(%request, "notification.request.failed");
                Verdict::ack()
            }
            (Then::Fail, Some(_)) => {
                let reason = self.end.reason().cloned();
                stuck(&self.attempt, &reason.unwrap_or_else(|| Reason::new("failed")), is_last)
            }
        }
    }

    /// The verdict if the end of a request could not be noted: it comes once more if the attempt after the `max_attempts` is left.
    pub(super) fn unrecorded(
        attempt: &FanOutAttempt<'_>,
        reason: Reason,
        error: &StoreError,
        max_attempts: u32,
    ) -> Verdict {
        let (request, number) = (attempt.request(), attempt.claimed.attempt);
        tracing::error!(%request, attempt = number, recorded = false, "notification.request.given_up");
        match number <= max_attempts {
            true => Verdict::nack(format_args!("{reason}; this could not be recorded: {error}")),
            false => Verdict::Bury { reason },
        }
    }
}

/// A dispatched request cannot fail any more, and an ack would lose the messages that are recorded and not enqueued.
pub(super) fn stuck(attempt: &FanOutAttempt<'_>, why: &Reason, is_last: bool) -> Verdict {
    let (request, number) = (attempt.request(), attempt.claimed.attempt);
    tracing::error!(%request, attempt = number, "notification.request.stuck");
    let why = format_args!("dispatched, but its pending messages can no longer be enqueued: {why}");
    match is_last {
        true => Verdict::bury(why),
        false => Verdict::nack(why),
    }
}

/// There is nothing to be done for a request.
pub(super) fn ignored(request: Uuid, status: &'static str) -> Verdict {
    tracing::debug!(%request, status, "notification.request.ignored");
    Verdict::ack()
}

/// The item of a record.
fn item_of(items: &mut [NewDigestItem], record: Uuid) -> Option<&mut NewDigestItem> {
    items.iter_mut().find(|new| new.item.message.id == record)
}

fn is_pending(status: &DeliveryStatus) -> bool {
    *status == DeliveryStatus::Pending
}

/// The answers, if they are answers to these steps.
pub(super) fn fitting(noted: Vec<StepNoted>, steps: &[FanOutStep]) -> Result<Vec<StepNoted>, StoreError> {
    let fits = |(noted, step): (&StepNoted, &FanOutStep)| {
        let kept = !noted.outdated && noted.status.is_some_and(RequestStatus::has_messages);
        noted.records.len() == if kept { step.records.len() } else { 0 }
    };
    match noted.len() == steps.len() && noted.iter().zip(steps).all(fits) {
        true => Ok(noted),
        false => Err(StoreError::new(StoreErrorKind::Corrupt, "fan out", "the answers do not fit the steps")),
    }
}

/// Why there is no attempt left after one that did not come to an end.
pub(super) fn unended(claimed: &Claimed) -> Reason {
    match &claimed.last_error {
        Some(last) => Reason::new(format_args!(
            "the last attempt never ended or could not be noted; last answer: {last}"
        )),
        None => Reason::new("the last attempt never ended"),
    }
}

/// Nothing was done yet, and what the store said is not the request's failure.
pub(super) fn give_back(attempt: &FanOutAttempt<'_>, error: &StoreError, verdicts: &dyn Verdicts) {
    let (request, number) = (attempt.request(), attempt.claimed.attempt);
    tracing::warn!(%request, attempt = number, %error, "notification.request.given_back");
    verdicts.give(attempt.index, Verdict::Release);
}

/// What finishing a chunk enqueues, with the headers of the chunk and so its trace.
pub(super) fn child(
    message: Result<NewMessage, Invalid>,
    headers: &Headers,
) -> Result<NewMessage, StoreError> {
    let message = message.map_err(|invalid| StoreError::new(StoreErrorKind::Corrupt, "fan out", invalid))?;
    Ok(message.with_headers(headers.clone()))
}
