use std::{fmt, str::FromStr, time::Duration};

use crate::Invalid;

/// How many messages a provider takes in a time: `100/s`, `30/m` or `1000/h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    messages: u32,
    per: Per,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Per {
    Second,
    Minute,
    Hour,
}

impl Rate {
    /// So many a second; refuses none, and more than 100 000.
    pub fn per_second(messages: u32) -> Result<Self, Invalid> {
        Self::new(messages, Per::Second)
    }

    fn new(messages: u32, per: Per) -> Result<Self, Invalid> {
        match messages {
            1..=100_000 => Ok(Self { messages, per }),
            other => Err(Invalid::OutOfRange {
                what: "rate",
                given: other.to_string(),
                allowed: "1 to 100000 messages a second, minute or hour".into(),
            }),
        }
    }

    /// The time that `tokens` messages take.
    pub fn span(self, tokens: u32) -> Duration {
        Duration::from_micros((u64::from(tokens) * self.per.micros()).div_ceil(u64::from(self.messages)))
    }

    /// How many tokens are taken together, so that a store is not asked for each message: those of a tenth of a second, one at
    /// least.
    pub fn block(self) -> u32 {
        u32::try_from(self.tokens_in(Duration::from_millis(100))).unwrap_or(u32::MAX).max(1)
    }

    fn tokens_in(self, span: Duration) -> u64 {
        let tokens = span.as_micros() * u128::from(self.messages) / u128::from(self.per.micros());
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }
}

/// The schedule of a rate: the moment up to which its tokens are handed out.
///
/// Moments are microseconds of a clock that all who share the schedule read. What was not taken for longer than one
/// [block](Rate::block) is forfeited, so that a pause is not followed by a flood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TokenSchedule {
    /// The tokens of all time before are handed out.
    pub handed_out_until: u64,
}

/// Tokens that were handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// How many.
    pub tokens: u32,
    /// If there were none, how long until the next.
    pub next: Duration,
}

impl TokenSchedule {
    /// So far may the clocks of servers differ that are asked in turn. A schedule that lies further ahead is of a clock that was put
    /// back since.
    const AHEAD: u64 = 10_000_000;

    /// Hands out up to `wanted` tokens at the moment `now`; answers the schedule afterwards.
    ///
    /// A schedule is never ahead of the clock by which it was made. One that is far ahead counts for nothing, or a clock that was put
    /// back by a day would stop the rate for a day.
    pub fn grant(self, rate: Rate, now: u64, wanted: u32) -> (Self, Grant) {
        let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        let is_of_another_time = self.handed_out_until > now.saturating_add(Self::AHEAD);
        let known = if is_of_another_time { 0 } else { self.handed_out_until };
        let from = known.max(now.saturating_sub(micros(rate.span(rate.block()))));
        let due = rate.tokens_in(Duration::from_micros(now.saturating_sub(from)));
        let tokens = wanted.min(u32::try_from(due).unwrap_or(u32::MAX));
        if tokens == 0 {
            let next = Duration::from_micros((from + micros(rate.span(1))).saturating_sub(now));
            return (self, Grant { tokens, next });
        }
        let handed_out_until = from + micros(rate.span(tokens));
        (Self { handed_out_until }, Grant { tokens, next: Duration::ZERO })
    }
}

impl Per {
    fn micros(self) -> u64 {
        match self {
            Self::Second => 1_000_000,
            Self::Minute => 60_000_000,
            Self::Hour => 3_600_000_000,
        }
    }

    fn letter(self) -> char {
        match self {
            Self::Second => 's',
            Self::Minute => 'm',
            Self::Hour => 'h',
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.messages, self.per.letter())
    }
}

impl FromStr for Rate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let malformed = || Invalid::Malformed {
            what: "rate",
            why: format!("{text:?}; write it like 100/s, 30/m or 1000/h"),
        };
        let (messages, per) = text.trim().split_once('/').ok_or_else(malformed)?;
        let per = [Per::Second, Per::Minute, Per::Hour].into_iter().find(|unit| {
            let mut letters = per.trim().chars();
            letters.next() == Some(unit.letter()) && letters.next().is_none()
        });
        Self::new(messages.trim().parse().map_err(|_| malformed())?, per.ok_or_else(malformed)?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[test]
    fn rates_are_written_as_they_are_read() {
        for text in ["100/s", "30/m", "1000/h"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for text in ["", "100", "0/s", "1/d", "1/sec", "-1/s", "100001/s", "a/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        assert_eq!("100/s".parse::<Rate>().unwrap().block(), 10);
        assert_eq!("30/m".parse::<Rate>().unwrap().block(), 1);
    }

    #[test]
    fn a_schedule_that_is_always_asked_hands_out_the_rate() {
        for text in ["1/s", "7/s", "100/s", "1000/s", "90/m"] {
            let rate: Rate = text.parse().unwrap();
            let (mut schedule, mut taken) = (TokenSchedule::default(), 0_u64);
            for tick in 0..60_000_u64 {
                let (next, grant) = schedule.grant(rate, 1_000_000_000 + tick * 1_000, rate.block());
                (schedule, taken) = (next, taken + u64::from(grant.tokens));
            }
            let expected = rate.tokens_in(Duration::from_secs(60));
            assert!(taken >= expected - 1 && taken <= expected + u64::from(rate.block()), "{text}: {taken}");
        }
    }

    /// Guard: a rate's schedule far in the future is ignored | `grant`: as it is
    #[test]
    fn a_clock_that_was_put_back_stops_a_rate_for_seconds_and_not_for_as_long_as_it_went_back() {
        let (rate, now): (Rate, u64) = ("100/s".parse().unwrap(), 1_000_000_000_000);
        let day_ahead = TokenSchedule { handed_out_until: now + 86_400_000_000 };
        let (after, grant) = day_ahead.grant(rate, now, rate.block());
        assert_eq!(grant.tokens, rate.block());
        assert!(after.handed_out_until <= now);
        let moment_ahead = TokenSchedule { handed_out_until: now + 2_000_000 };
        assert_eq!(moment_ahead.grant(rate, now, 1).1.tokens, 0, "servers' clocks may differ by that");
    }

    proptest! {
        /// Guard: a rate forfeits tokens of a pause | nothing is forfeited
        #[test]
        fn never_more_than_the_rate_and_one_block(
            messages in 1..2_000_u32, steps in vec((0..300_000_u64, 1..200_u32), 1..200),
        ) {
            let rate = Rate::per_second(messages).unwrap();
            let (mut schedule, mut now, mut taken) = (TokenSchedule::default(), 1_000_000_000_u64, 0_u64);
            for (pause, wanted) in steps {
                now += pause;
                let (next, grant) = schedule.grant(rate, now, wanted);
                prop_assert!(grant.tokens <= wanted);
                prop_assert_eq!(grant.tokens == 0, grant.next > Duration::ZERO);
                if grant.tokens == 0 {
                    let then = now + u64::try_from(grant.next.as_micros()).unwrap();
                    prop_assert!(next.grant(rate, then, 1).1.tokens == 1);
                }
                (schedule, taken) = (next, taken + u64::from(grant.tokens));
                let most = rate.tokens_in(Duration::from_micros(now - 1_000_000_000)) + u64::from(rate.block()) + 1;
                prop_assert!(taken <= most, "{taken} of {most}");
            }
        }
    }
}
