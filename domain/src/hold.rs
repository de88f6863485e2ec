use std::time::Duration;

/// How long a broker lets a consumer hold a message that is not finished; after that it gives the message to another, or again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HoldLimit {
    /// As long as the connection lasts.
    None,
    /// For this time, which begins again whenever the hold is extended.
    Extendable(Duration),
    /// For a time that the consumer cannot change.
    Fixed {
        /// All of the time.
        all: Duration,
        /// What was left of it when the message was handed over.
        left: Duration,
    },
}

/// A failed attempt at the effect of a message that its consumer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldAttempt {
    /// How long ago the message was handed over.
    pub elapsed: Duration,
    /// How long until the next attempt.
    pub wait: Duration,
    /// Whether the message may be the cause.
    pub is_of_message: bool,
}

/// What becomes of a message that is held, after a failed attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeldNext {
    /// It is held, and tried again.
    Again,
    /// It has failed for as long as the broker lets it be held, and is refused.
    Refuse,
    /// It is given back, and comes again with all of its time.
    GiveBack,
}

impl HoldLimit {
    /// How often the hold is extended, if it can be: two extensions may fail before it is lost.
    pub fn extend_every(self) -> Option<Duration> {
        match self {
            Self::Extendable(limit) => Some(limit / 3),
            Self::None | Self::Fixed { .. } => None,
        }
    }

    /// Decides whether a message may be held until its next attempt. A sixth of a fixed time is left for that attempt.
    ///
    /// A message that may be the cause of its failures is refused, because given back it would occupy its consumer again and again;
    /// but not one that spent most of its time waiting behind others.
    pub fn after(self, attempt: HeldAttempt) -> HeldNext {
        let Self::Fixed { all, left } = self else { return HeldNext::Again };
        let next = attempt.elapsed.saturating_add(attempt.wait).saturating_add(all / 6);
        match next <= left {
            true => HeldNext::Again,
            false if attempt.is_of_message && left >= all / 2 => HeldNext::Refuse,
            false => HeldNext::GiveBack,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: Duration = Duration::from_secs(1800);

    fn after(left: u64, elapsed: u64, wait: u64, is_of_message: bool) -> HeldNext {
        let [left, elapsed, wait] = [left, elapsed, wait].map(Duration::from_secs);
        HoldLimit::Fixed { all: ALL, left }.after(HeldAttempt { elapsed, wait, is_of_message })
    }

    #[test]
    fn retrying_ends_before_a_limit_that_cannot_be_extended() {
        assert_eq!(after(1800, 1200, 300, true), HeldNext::Again);
        assert_eq!(after(1800, 1201, 300, true), HeldNext::Refuse);
        assert_eq!(after(1800, 1201, 300, false), HeldNext::GiveBack, "the store is the cause");
        assert_eq!(after(899, 300, 300, true), HeldNext::GiveBack, "it waited behind others");
    }

    #[test]
    fn a_hold_that_can_be_extended_or_has_no_end_is_kept() {
        let long = HeldAttempt { elapsed: ALL * 100, wait: ALL, is_of_message: true };
        for limit in [HoldLimit::None, HoldLimit::Extendable(Duration::from_secs(30))] {
            assert_eq!(limit.after(long), HeldNext::Again);
        }
        assert_eq!(
            HoldLimit::Extendable(Duration::from_secs(30)).extend_every(),
            Some(Duration::from_secs(10))
        );
    }

    proptest! {
        #[test]
        fn no_attempt_begins_after_a_fixed_time_is_over(left in 0_u64..4000, elapsed in 0_u64..4000, wait in 0_u64..4000, of_message: bool) {
            if after(left, elapsed, wait, of_message) == HeldNext::Again {
                prop_assert!(elapsed + wait <= left, "{elapsed} + {wait}");
            }
        }
    }
}
