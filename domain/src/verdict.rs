use std::time::Duration;

use crate::{Disposition, Doubt, Due, NewMessage, Reason, RetryPolicy};

/// What a handler says about the message it was given.
///
/// ```
/// use std::time::Duration;
///
/// use claimstream_domain::{Reason, Verdict};
///
/// fn verdict(status: u16) -> Verdict {
///     match status {
///         200 => Verdict::ack(),
///         404 => Verdict::bury("there is no such address"),
///         429 => Verdict::Nack { after: Some(Duration::from_secs(60)), reason: Reason::new("too many requests") },
///         _ => Verdict::nack(format!("the server answered {status}")),
///     }
/// }
/// # assert_eq!(verdict(200), Verdict::ack());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Finish the message. The children are enqueued in the transaction that finishes it; if they can never be, the message
    /// is buried instead.
    Ack {
        /// Messages to enqueue.
        emit: Vec<NewMessage>,
    },
    /// Put the message off; it is buried if this was its last attempt.
    Nack {
        /// How long to wait, at most [`Due::MAX_DELAY`](crate::Due::MAX_DELAY); the retry policy's delay if none is
        /// named.
        after: Option<Duration>,
        /// Why.
        reason: Reason,
    },
    /// Put the message off and do not count the attempt, because nothing has been tried: it waits for room, not for luck.
    Postpone {
        /// How long to wait, at most [`Due::MAX_DELAY`](crate::Due::MAX_DELAY).
        after: Duration,
        /// What it waits for.
        reason: Reason,
    },
    /// Give the message up: keep it with the dead letters.
    Bury {
        /// Why.
        reason: Reason,
    },
    /// Give the message back as if it had never been claimed. It is due at once, for the next claim; to have it wait, say
    /// [`Nack`](Self::Nack) or [`Postpone`](Self::Postpone).
    Release,
}

impl Verdict {
    /// Finishes the message, with nothing to enqueue.
    pub fn ack() -> Self {
        Self::Ack { emit: Vec::new() }
    }

    /// Puts the message off for as long as the retry policy says.
    pub fn nack(why: impl std::fmt::Display) -> Self {
        Self::Nack { after: None, reason: Reason::new(why) }
    }

    /// Gives the message up, to be kept with the dead letters.
    pub fn bury(why: impl std::fmt::Display) -> Self {
        Self::Bury { reason: Reason::new(why) }
    }

    /// The verdict with a reason, if it has one, that says this doubt as well.
    pub fn keeping(self, doubt: &Doubt) -> Self {
        match self {
            Self::Nack { after, reason } => Self::Nack { after, reason: doubt.mark(reason) },
            Self::Postpone { after, reason } => Self::Postpone { after, reason: doubt.mark(reason) },
            Self::Bury { reason } => Self::Bury { reason: doubt.mark(reason) },
            other @ (Self::Ack { .. } | Self::Release) => other,
        }
    }
}

/// The one place that turns a verdict into the message's next state.
///
/// A failed attempt that was the last one allowed buries the message; nothing is dropped in silence.
pub fn decide(verdict: Verdict, attempt: u32, policy: &RetryPolicy, seed: u64) -> Disposition {
    match verdict {
        Verdict::Ack { emit } => Disposition::Done { emit },
        Verdict::Bury { reason } => Disposition::dead(reason),
        Verdict::Release => Disposition::Returned,
        Verdict::Postpone { after, reason } => {
            Disposition::Postponed { after: after.min(Due::MAX_DELAY), reason }
        }
        Verdict::Nack { reason, .. } if policy.is_last(attempt) => Disposition::dead(reason),
        Verdict::Nack { after, reason } => {
            let after = after.unwrap_or_else(|| policy.delay(attempt, seed));
            Disposition::Retry { after: after.min(Due::MAX_DELAY), reason }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_failed_attempt_buries() {
        let policy = RetryPolicy::default();
        assert!(matches!(decide(Verdict::nack("x"), 19, &policy, 1), Disposition::Retry { .. }));
        let reason = Reason::new("x");
        assert_eq!(decide(Verdict::nack("x"), 20, &policy, 1), Disposition::dead(reason));
        assert_eq!(decide(Verdict::Release, 20, &policy, 1), Disposition::Returned);
        let (after, reason) = (Duration::MAX, Reason::new("x"));
        let postponed = decide(Verdict::Postpone { after, reason: reason.clone() }, 20, &policy, 1);
        assert_eq!(postponed, Disposition::Postponed { after: Due::MAX_DELAY, reason });
    }

    #[test]
    fn a_named_delay_wins_over_the_policy() {
        let after = Duration::from_secs(77);
        let verdict = Verdict::Nack { after: Some(after), reason: Reason::new("busy") };
        let expected = Disposition::Retry { after, reason: Reason::new("busy") };
        assert_eq!(decide(verdict, 1, &RetryPolicy::default(), 9), expected);
    }

    #[test]
    fn every_reason_keeps_a_doubt_and_what_has_none_stays_as_it_is() {
        let doubt = Doubt::of(["one"]);
        let (after, kept) = (Duration::ZERO, doubt.mark(Reason::new("x")));
        assert_eq!(Verdict::nack("x").keeping(&doubt), Verdict::Nack { after: None, reason: kept.clone() });
        assert_eq!(Verdict::bury("x").keeping(&doubt), Verdict::Bury { reason: kept.clone() });
        let postponed = Verdict::Postpone { after, reason: Reason::new("x") };
        assert_eq!(postponed.keeping(&doubt), Verdict::Postpone { after, reason: kept });
        for other in [Verdict::ack(), Verdict::Release] {
            assert_eq!(other.clone().keeping(&doubt), other);
        }
    }

    #[test]
    fn a_delay_without_an_end_is_cut() {
        let policy = RetryPolicy { base: Duration::MAX, cap: Duration::MAX, ..RetryPolicy::default() };
        for after in [Some(Duration::MAX), None] {
            let verdict = Verdict::Nack { after, reason: Reason::new("busy") };
            let Disposition::Retry { after, .. } = decide(verdict, 1, &policy, u64::MAX) else {
                panic!("no retry")
            };
            assert!(after <= Due::MAX_DELAY, "{after:?}");
        }
    }
}
