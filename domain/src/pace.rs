use std::time::Duration;

use crate::Invalid;

/// How a relay spaces its claims: at once after a full batch, otherwise with waits that grow while nothing is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pacing {
    /// The wait after the first claim that was not full.
    pub idle_min: Duration,
    /// The longest wait, shortened at random by up to half; also the longest that a new message lies unseen by an idle relay
    /// without a wakeup, and in any case one that is due by time alone.
    pub idle_max: Duration,
}

/// What the last claim brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// As many messages as were asked for: there may be more.
    Full,
    /// Some, but fewer than were asked for.
    Some,
    /// None.
    Nothing,
    /// An error.
    Failed,
}

/// What the relay does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Claim again without a wait.
    ClaimNow,
    /// Wait this long, or until a wakeup.
    Wait(Duration),
}

/// How many claims in a row have brought nothing; the only memory that pacing has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pace {
    fruitless: u32,
}

impl Pacing {
    /// How many claims in a row may follow wakeups at once though they bring nothing.
    pub const FRUITLESS_WAKEUPS: u32 = 4;

    /// How long after a claim a wakeup is put off, if the `fruitless` newest claims each followed a wakeup and brought nothing.
    ///
    /// One that was claimed by the time that its wakeup is noticed is common and no reason to sleep over the next; a flood of
    /// wakeups for messages that others take must not be a flood of claims.
    pub fn wakeup_delay(&self, fruitless: u32) -> Duration {
        if fruitless > Self::FRUITLESS_WAKEUPS { self.idle_min } else { Duration::ZERO }
    }

    /// Refuses waits of nothing and bounds in the wrong order.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.idle_min.is_zero() || self.idle_max < self.idle_min {
            return Err(Invalid::OutOfRange {
                what: "idle wait",
                given: format!("{:?} to {:?}", self.idle_min, self.idle_max),
                allowed: "longer than zero, and the maximum no shorter than the minimum".into(),
            });
        }
        Ok(())
    }

    /// The one place that decides what follows a claim.
    ///
    /// Waits double from `idle_min` to `idle_max` and are shortened at random by up to half, so that instances that
    /// started together part. An error waits like an empty queue: the next claim may work.
    pub fn after(&self, pace: Pace, found: Found, seed: u64) -> (Pace, Next) {
        let fruitless = match found {
            Found::Full => return (Pace::default(), Next::ClaimNow),
            Found::Some => return (Pace::default(), Next::Wait(self.idle_min)),
            Found::Nothing | Found::Failed => pace.fruitless.saturating_add(1),
        };
        let factor = 1_u32 << (fruitless - 1).min(31);
        let grown = self.idle_min.checked_mul(factor).map_or(self.idle_max, |wait| wait.min(self.idle_max));
        let wait = (grown - share(grown / 2, seed)).max(self.idle_min);
        (Pace { fruitless }, Next::Wait(wait))
    }
}

impl Default for Pacing {
    fn default() -> Self {
        Self { idle_min: Duration::from_millis(20), idle_max: Duration::from_secs(5) }
    }
}

/// A share of `whole` drawn by `seed`, from nothing to all of it, the same for the same seed.
pub(crate) fn share(whole: Duration, seed: u64) -> Duration {
    let parts = u128::from(mix(seed) >> 32);
    let nanos = whole.as_nanos().saturating_mul(parts) >> 32;
    Duration::new((nanos / 1_000_000_000) as u64, (nanos % 1_000_000_000) as u32)
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): spreads neighbouring seeds over all 64 bits.
pub(crate) fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_full_batch_never_waits(fruitless in any::<u32>(), seed in any::<u64>()) {
            let (pace, next) = Pacing::default().after(Pace { fruitless }, Found::Full, seed);
            prop_assert_eq!(next, Next::ClaimNow);
            prop_assert_eq!(pace, Pace::default());
        }

        #[test]
        fn waits_stay_within_their_bounds(
            fruitless in any::<u32>(), seed in any::<u64>(), min in 1..u64::MAX / 2, more in 0..u64::MAX / 2,
        ) {
            let pacing = Pacing {
                idle_min: Duration::from_micros(min),
                idle_max: Duration::from_micros(min + more),
            };
            prop_assert!(pacing.check().is_ok());
            for found in [Found::Some, Found::Nothing, Found::Failed] {
                let (_, next) = pacing.after(Pace { fruitless }, found, seed);
                let Next::Wait(wait) = next else { return Err(TestCaseError::fail("no wait")) };
                prop_assert!(wait >= pacing.idle_min && wait <= pacing.idle_max);
            }
        }

        #[test]
        fn an_idle_relay_comes_to_rest(seed in any::<u64>()) {
            let pacing = Pacing::default();
            let mut pace = Pace::default();
            let mut last = Duration::ZERO;
            for step in 0..20 {
                let (after, next) = pacing.after(pace, Found::Nothing, seed.wrapping_add(step));
                let Next::Wait(wait) = next else { return Err(TestCaseError::fail("no wait")) };
                (pace, last) = (after, wait);
            }
            prop_assert!(last >= pacing.idle_max / 2);
        }

        #[test]
        fn wakeups_are_put_off_only_after_several_fruitless_ones_and_by_the_shortest_wait(fruitless in any::<u32>()) {
            let pacing = Pacing::default();
            let put_off = pacing.wakeup_delay(fruitless);
            let expected = if fruitless > Pacing::FRUITLESS_WAKEUPS { pacing.idle_min } else { Duration::ZERO };
            prop_assert_eq!(put_off, expected);
        }

        #[test]
        fn a_share_is_never_more_than_the_whole(nanos in any::<u64>(), seed in any::<u64>()) {
            prop_assert!(share(Duration::from_nanos(nanos), seed) <= Duration::from_nanos(nanos));
        }
    }
}
