use std::time::Duration;

use humantime::format_duration;

use crate::{Invalid, Lease, Retention, RetryPolicy};

/// How long steps must be kept, so that a message that comes again finds the step that it took.
#[derive(Debug)]
pub struct StepRetention;

impl StepRetention {
    /// How long steps are kept by default: 30 days.
    pub const DEFAULT: Duration = Duration::from_secs(30 * 24 * 3600);

    /// Refuses a time that is shorter than any transaction may last.
    pub fn check(keep: Duration) -> Result<(), Invalid> {
        match keep >= Retention::SHORTEST {
            true => Ok(()),
            false => Err(too_short(keep, Retention::SHORTEST, "any transaction may last")),
        }
    }

    /// Refuses a time after which a message may still come for its next attempt: its effect would be had twice. `handling` is
    /// how long a handler may take, while its lease is renewed.
    pub fn check_against(
        keep: Duration,
        retry: &RetryPolicy,
        lease: Lease,
        handling: Duration,
    ) -> Result<(), Invalid> {
        Self::check(keep)?;
        let horizon = Self::horizon(retry, lease, handling);
        match keep > horizon {
            true => Ok(()),
            false => Err(too_short(keep, horizon, "the retry policy keeps a message coming")),
        }
    }

    /// Refuses a time after which a call of a TCC transaction may still come: a late Try would reserve for good. It may be undecided until
    /// `deadline`, and a call of before is made again after `wait` at the latest.
    pub fn check_for_calls(keep: Duration, deadline: Duration, wait: Duration) -> Result<(), Invalid> {
        Self::check(keep)?;
        let horizon = deadline.saturating_add(wait);
        match keep > horizon {
            true => Ok(()),
            false => Err(too_short(keep, horizon, "a call of a TCC transaction may come late")),
        }
    }

    /// How long after its first attempt a message may still be tried: every attempt lasts a lease, or as long as a handler may
    /// take, and waits its longest delay.
    pub fn horizon(retry: &RetryPolicy, lease: Lease, handling: Duration) -> Duration {
        let attempt = lease.duration().max(handling);
        attempt.saturating_add(retry.cap).saturating_mul(retry.max_attempts)
    }
}

fn too_short(keep: Duration, horizon: Duration, why: &str) -> Invalid {
    Invalid::OutOfRange {
        what: "step_retention",
        given: format_duration(keep).to_string(),
        allowed: format!("longer than {}, which {why}", format_duration(horizon)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_outlive_every_attempt() {
        let (retry, lease) = (RetryPolicy::default(), Lease::default());
        let short = Duration::from_secs(5);
        assert_eq!(StepRetention::check_against(StepRetention::DEFAULT, &retry, lease, short), Ok(()));
        let horizon = StepRetention::horizon(&retry, lease, short);
        assert_eq!(horizon, Duration::from_secs(20 * 330));
        let refused = StepRetention::check_against(horizon, &retry, lease, short).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "step_retention is 1h 50m, it must be longer than 1h 50m, which the retry policy keeps a message coming"
        );
        assert!(StepRetention::check(Duration::from_secs(60)).is_err());
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        assert_eq!(StepRetention::check_for_calls(hours(48), hours(46), hours(1)), Ok(()));
        let refused = StepRetention::check_for_calls(hours(48), hours(47), hours(1)).unwrap_err().to_string();
        assert!(refused.contains("a call of a TCC transaction may come late"), "{refused}");
        assert!(StepRetention::check_for_calls(hours(48), Duration::MAX, hours(1)).is_err());
        let long = Duration::from_secs(600);
        assert_eq!(StepRetention::horizon(&retry, lease, long), Duration::from_secs(20 * 900));
        assert!(StepRetention::check_against(StepRetention::DEFAULT, &retry, lease, Duration::MAX).is_err());
    }
}
