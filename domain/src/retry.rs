use std::time::Duration;

use crate::{Invalid, pace::share};

/// How long a failed message waits and how often it is tried: exponential, capped, with full jitter.
///
/// The defaults are 2 s, doubled up to 300 s, 20 attempts.
///
/// ```
/// use std::time::Duration;
///
/// use claimstream_domain::{Jitter, RetryPolicy};
///
/// let policy = RetryPolicy { base: Duration::from_secs(1), jitter: Jitter::None, ..RetryPolicy::default() };
/// assert_eq!(policy.delay(1, 0), Duration::from_secs(1));
/// assert_eq!(policy.delay(4, 0), Duration::from_secs(8));
/// assert!(policy.is_last(20));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    /// The delay after the first failed attempt; each further one doubles it.
    pub base: Duration,
    /// The longest delay.
    pub cap: Duration,
    /// The most attempts; the message is dead when the last has failed.
    pub max_attempts: u32,
    /// Whether the delay is drawn at random.
    pub jitter: Jitter,
}

/// How a delay is drawn from the exponential one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Jitter {
    /// Anywhere between nothing and the exponential delay, so that messages that failed together part.
    #[default]
    Full,
    /// Exactly the exponential delay.
    None,
}

impl RetryPolicy {
    /// Refuses a policy without attempts, without a delay, or with a `cap` below its `base`.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.max_attempts == 0 {
            return Err(out_of_range("max_attempts", "0", "at least 1"));
        }
        if self.base.is_zero() {
            return Err(out_of_range("retry base", "zero", "longer than zero"));
        }
        if self.cap < self.base {
            return Err(out_of_range("retry cap", &format!("{:?}", self.cap), "no shorter than the base"));
        }
        Ok(())
    }

    /// How long to wait after the failed attempt number `attempt` (1 is the first), drawn by `seed`.
    pub fn delay(&self, attempt: u32, seed: u64) -> Duration {
        let doublings = attempt.saturating_sub(1).min(63);
        let factor = u32::try_from(1_u64 << doublings).unwrap_or(u32::MAX);
        let exponential = self.base.checked_mul(factor).map_or(self.cap, |delay| delay.min(self.cap));
        match self.jitter {
            Jitter::None => exponential,
            Jitter::Full => share(exponential, seed),
        }
    }

    /// The same policy with one attempt more, for a handler that must be called once more after the last attempt has ended.
    pub fn with_one_more_attempt(&self) -> Self {
        Self { max_attempts: self.max_attempts.saturating_add(1), ..self.clone() }
    }

    /// Whether a message that is tried for the `attempt`-th time may be what ends its processes: it has used up half of its
    /// attempts, and none of them has said why it `failed`.
    pub fn is_suspect(&self, attempt: u32, failed: bool) -> bool {
        !failed && attempt > self.max_attempts.div_ceil(2)
    }

    /// Whether a message that fails its attempt number `attempt` has none left.
    pub fn is_last(&self, attempt: u32) -> bool {
        attempt >= self.max_attempts
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            base: Duration::from_secs(2),
            cap: Duration::from_secs(300),
            max_attempts: 20,
            jitter: Jitter::Full,
        }
    }
}

fn out_of_range(what: &'static str, given: &str, allowed: &str) -> Invalid {
    Invalid::OutOfRange { what, given: given.into(), allowed: allowed.into() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn failures_one_to_nine_wait_as_the_source_text_says() {
        let policy = RetryPolicy { jitter: Jitter::None, ..RetryPolicy::default() };
        let seconds: Vec<_> = (1..=9).map(|attempt| policy.delay(attempt, 0).as_secs()).collect();
        assert_eq!(seconds, [2, 4, 8, 16, 32, 64, 128, 256, 300]);
        assert!(!policy.is_last(19) && policy.is_last(20));
    }

    #[test]
    fn a_message_that_was_cut_off_half_of_the_times_is_a_suspect() {
        let suspects = |max_attempts| {
            let policy = RetryPolicy { max_attempts, ..RetryPolicy::default() };
            assert!((1..=max_attempts).all(|attempt| !policy.is_suspect(attempt, true)));
            (1..=max_attempts).filter(|attempt| policy.is_suspect(*attempt, false)).count()
        };
        assert_eq!([1, 2, 3, 4, 20].map(suspects), [0, 1, 1, 2, 10]);
    }

    #[test]
    fn refuses_policies_that_cannot_work() {
        let good = RetryPolicy::default();
        assert!(good.check().is_ok());
        assert!(RetryPolicy { max_attempts: 0, ..good.clone() }.check().is_err());
        assert!(RetryPolicy { base: Duration::ZERO, ..good.clone() }.check().is_err());
        assert!(RetryPolicy { cap: Duration::from_secs(1), ..good }.check().is_err());
    }

    proptest! {
        #[test]
        fn delays_never_overflow_and_never_pass_the_cap(
            base in any::<u64>(), cap in any::<u64>(), attempt in any::<u32>(), seed in any::<u64>(),
            full in any::<bool>(),
        ) {
            let policy = RetryPolicy {
                base: Duration::from_micros(base),
                cap: Duration::from_micros(cap),
                max_attempts: 20,
                jitter: if full { Jitter::Full } else { Jitter::None },
            };
            prop_assert!(policy.delay(attempt, seed) <= policy.cap);
        }

        #[test]
        fn without_jitter_delays_never_shrink(attempt in 0..200_u32) {
            let policy = RetryPolicy { jitter: Jitter::None, ..RetryPolicy::default() };
            prop_assert!(policy.delay(attempt, 0) <= policy.delay(attempt + 1, 0));
        }

        #[test]
        fn full_jitter_uses_the_whole_range(seeds in prop::collection::vec(any::<u64>(), 200)) {
            let policy = RetryPolicy::default();
            let delays: Vec<_> = seeds.iter().map(|seed| policy.delay(9, *seed)).collect();
            prop_assert!(delays.iter().any(|d| *d < Duration::from_secs(100)));
            prop_assert!(delays.iter().any(|d| *d > Duration::from_secs(200)));
        }
    }
}
