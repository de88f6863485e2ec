use std::{sync::Arc, time::Duration};

use claimstream_domain::{Claimed, Payload, Verdict};
use claimstream_ports::Handled;

use super::handler_call::CallEnd;
use crate::{report::DeadLetterClass, settle::ClaimHandle};

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

impl EndedAttempt {
    /// An attempt whose handler began at `began`, ended so, or was stopped because it had taken as long as `timed_out`.
    pub(crate) fn new(
        (handle, source): (ClaimHandle, ReasonSource),
        end: CallEnd,
        timed_out: Option<Duration>,
        began: Duration,
    ) -> Self {
        let (verdict, class, reason_source) = match (end, timed_out) {
            (CallEnd::Returned(Some(verdict)), _) => {
                let class = DeadLetterClass::of(&verdict);
                (verdict, class, source)
            }
            (CallEnd::Panicked(verdict), _) => (verdict, DeadLetterClass::Panicked, source),
            (CallEnd::Returned(None) | CallEnd::Stopped, Some(limit)) => {
                let verdict = Verdict::nack(format_args!("no verdict within {limit:?}"));
                (verdict, DeadLetterClass::TimedOut, ReasonSource::Nothing)
            }
            (CallEnd::Returned(None) | CallEnd::Stopped, None) => {
                let verdict = Verdict::nack("the handler gave no verdict");
                (verdict, DeadLetterClass::Failed, ReasonSource::Nothing)
            }
        };
        Self { handle, verdict, class, reason_source, began: Some(began) }
    }

    /// An attempt whose handler was dropped at shutdown.
    pub(crate) fn at_shutdown(handle: ClaimHandle) -> Self {
        let verdict = Verdict::nack("stopped at shutdown");
        let (class, reason_source) = (DeadLetterClass::Failed, ReasonSource::Nothing);
        Self { handle, verdict, class, reason_source, began: None }
    }

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
