use std::time::Duration;

use claimstream_domain::{Disposition, MessageId, QueueName, Reason};

use crate::report::{DeadLetterClass, LogLimit, Unlogged, shown};

/// Logs the failed attempts of one pipeline: a line for each, as long as they are no flood.
pub(crate) struct FailedAttempts {
    queue: QueueName,
    max_attempts: u32,
    limit: LogLimit,
    /// Counted apart, so that a flood of other failures hides no panic.
    panics: LogLimit,
}

/// One attempt that has ended.
pub(crate) struct Attempt<'a> {
    pub(crate) message: MessageId,
    /// Its number.
    pub(crate) number: u32,
    /// The message's next state.
    pub(crate) disposition: &'a Disposition,
    pub(crate) class: DeadLetterClass,
    /// What the message carries, which no line may show; empty if the reason is not the handler's.
    pub(crate) payload: &'a [u8],
}

impl FailedAttempts {
    /// So many lines are logged at once.
    const AT_ONCE: u32 = 10;

    pub(crate) fn new(queue: QueueName, max_attempts: u32) -> Self {
        let limit = || LogLimit::new(Self::AT_ONCE);
        Self { queue, max_attempts, limit: limit(), panics: limit() }
    }

    /// Logs an attempt that ended at `now`, unless it has not failed or too many have of late.
    pub(crate) fn note(&mut self, attempt: &Attempt<'_>, now: Duration) {
        let (reason, next) = match attempt.disposition {
            Disposition::Done { .. } | Disposition::Postponed { .. } | Disposition::Returned => return,
            Disposition::Retry { after, reason } => (reason, format!("{after:?}")),
            Disposition::Dead { reason, .. } => (reason, "dead letter".to_owned()),
        };
        let limit = match attempt.class {
            DeadLetterClass::Panicked => &mut self.panics,
            _ => &mut self.limit,
        };
        if let Some(unlogged) = limit.admit(now) {
            self.log(attempt, reason, &next, unlogged);
        }
    }

    fn log(&self, attempt: &Attempt<'_>, reason: &Reason, next: &str, unlogged: Unlogged) {
        let Self { queue, max_attempts, .. } = self;
        let Attempt { message: message_id, number: attempt, class, payload, .. } = attempt;
        let (reason, unlogged) = (shown(reason, payload), unlogged.field());
        match class {
            // A handler is not meant to panic, so a developer has to mend it.
            DeadLetterClass::Panicked => tracing::error!(
                %queue, %message_id, attempt, max_attempts, %class, %next, %reason, unlogged, "attempt failed"
            ),
            _ => tracing::warn!(
                %queue, %message_id, attempt, max_attempts, %class, %next, %reason, unlogged, "attempt failed"
            ),
        }
    }
}
