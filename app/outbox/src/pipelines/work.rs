use std::{sync::Arc, task::Context, time::Duration};

use claimstream_domain::{Claimed, Payload, Verdict};
use claimstream_ports::Handled;

use crate::{in_flight::Ticket, report::DeadLetterClass, settle::ClaimHandle, stream::Claims};

/// What a run does with the messages of its stream: it lets handlers begin with them, one by one or in batches, and says which
/// attempts have ended.
pub(crate) trait Work: Send {
    /// Takes messages from the stream as long as there is room, and says whether anything was done.
    fn poll_start(&mut self, cx: &mut Context<'_>, claims: &mut Claims) -> bool;

    /// Drives the handlers and adds the attempts that have ended; says whether anything was done.
    fn poll_ended(&mut self, cx: &mut Context<'_>, ended: &mut Vec<EndedAttempt>) -> bool;

    /// Takes no more messages from the stream.
    fn start_no_more(&mut self);

    /// Takes the claim of a message that is no longer ours from the attempt at it; `None` if there is none.
    fn stop(&mut self, ticket: Ticket) -> Option<ClaimHandle>;

    /// Drops all handlers and adds the attempts that have ended with that; the claims are those of attempts that have not ended.
    fn stop_all(&mut self, ended: &mut Vec<EndedAttempt>) -> Vec<ClaimHandle>;

    /// Whether no handler runs.
    fn is_empty(&self) -> bool;

    /// How many attempts have begun and not ended.
    fn running(&self) -> usize;

    /// How many handlers were stopped or have panicked.
    fn cut_short(&self) -> CutShort;
}

/// An attempt at one message that has ended.
pub(crate) struct EndedAttempt {
    pub(crate) handle: ClaimHandle,
    pub(crate) verdict: Verdict,
    pub(crate) class: DeadLetterClass,
    pub(crate) reason_source: ReasonSource,
    /// When its handler began, on the timer's clock; `None` if the handler was dropped at shutdown and is not measured.
    pub(crate) began: Option<Duration>,
}

/// The message of which a handler has said why the attempt failed, because no log line may show its payload.
pub(crate) enum ReasonSource {
    /// Of none: the reason is not the handler's.
    Nothing,
    One(Payload),
    /// The message of a batch at this index.
    OneOf(Arc<Vec<Claimed>>, usize),
}

/// Handlers that came to no end of their own.
#[derive(Clone, Copy, Default)]
pub(crate) struct CutShort {
    pub(crate) panicked: u64,
    pub(crate) timed_out: u64,
}

impl EndedAttempt {
    /// How the handler came to an end, for metrics.
    pub(crate) fn outcome(&self) -> Handled {
        match (self.class, &self.verdict) {
            (DeadLetterClass::Panicked, _) => Handled::Panicked,
            (DeadLetterClass::TimedOut, _) => Handled::TimedOut,
            (_, Verdict::Ack { .. }) => Handled::Acked,
            (_, Verdict::Nack { .. }) => Handled::Nacked,
            (_, Verdict::Postpone { .. }) => Handled::Postponed,
            (_, Verdict::Release) => Handled::Released,
            (_, Verdict::Bury { .. }) => Handled::Buried,
        }
    }
}

impl ReasonSource {
    pub(crate) fn payload(&self) -> &[u8] {
        match self {
            Self::Nothing => &[],
            Self::One(payload) => payload.bytes(),
            Self::OneOf(messages, index) => {
                messages.get(*index).map_or(&[], |claimed| claimed.message.payload.bytes())
            }
        }
    }
}
