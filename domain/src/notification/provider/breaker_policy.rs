use std::time::Duration;

use crate::Invalid;

/// When a provider that fails is left alone, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BreakerPolicy {
    /// So many failures within the window open the circuit, if they come in a row or are at least half of the answers.
    pub failures: u32,
    /// The time in which failures are counted.
    pub window: Duration,
    /// How long the circuit stays open before the first trial; each trial that fails doubles it.
    pub pause: Duration,
    /// The longest pause.
    pub pause_cap: Duration,
    /// How long a provider may say nothing to so many messages at once before others are asked first.
    pub silence: Duration,
}

impl BreakerPolicy {
    /// Refuses a policy that never opens or never waits.
    pub fn check(&self) -> Result<(), Invalid> {
        let refused = |what, given: String, allowed: &str| {
            Err(Invalid::OutOfRange { what, given, allowed: allowed.into() })
        };
        if self.failures == 0 {
            return refused("failures of a circuit breaker", "0".into(), "at least 1");
        }
        if self.window < Duration::from_millis(10) {
            return refused("window of a circuit breaker", format!("{:?}", self.window), "at least 10ms");
        }
        if self.pause.is_zero() || self.pause_cap < self.pause {
            let given = format!("{:?} to {:?}", self.pause, self.pause_cap);
            return refused(
                "pause of a circuit breaker",
                given,
                "longer than zero, and the longest no shorter than it",
            );
        }
        Ok(())
    }

    /// How long the circuit is open after so many trials that failed.
    pub fn pause_after(&self, failed_trials: u32) -> Duration {
        let factor = 1_u32 << failed_trials.min(31);
        self.pause.checked_mul(factor).map_or(self.pause_cap, |pause| pause.min(self.pause_cap))
    }
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self {
            failures: 5,
            window: Duration::from_secs(10),
            pause: Duration::from_secs(5),
            pause_cap: Duration::from_secs(15),
            silence: Duration::from_secs(2),
        }
    }
}
