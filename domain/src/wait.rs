use std::time::Duration;

/// How long a message waited for its claim: from the moment at which it was due until the claim.
///
/// A new message is due when it was enqueued, or at the moment that its sender chose; a retry is due when its delay is over, so the
/// handlers and delays of earlier attempts are no part of its wait. A message that `keeps_place_until` a moment has kept the place
/// of its first attempt, so that its ordering key stays in order, and that moment is when its retry was due.
///
/// All are microseconds of the store's clock. A clock that was set back makes no wait.
pub fn waited(available_at: i64, keeps_place_until: Option<i64>, claimed_at: i64) -> Duration {
    let due = keeps_place_until.map_or(available_at, |until| until.max(available_at));
    Duration::from_micros(claimed_at.saturating_sub(due).max(0).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_waits_from_its_own_due_time() {
        assert_eq!(waited(10, None, 25), Duration::from_micros(15));
        assert_eq!(waited(10, Some(20), 25), Duration::from_micros(5), "a retry in its old place");
        assert_eq!(waited(10, Some(5), 25), Duration::from_micros(15), "it was revived since");
    }

    #[test]
    fn no_clock_makes_a_wait_that_was_none() {
        assert_eq!(waited(30, None, 25), Duration::ZERO);
        assert_eq!(waited(10, Some(30), 25), Duration::ZERO);
        assert_eq!(waited(i64::MIN, None, i64::MAX), Duration::from_micros(i64::MAX.unsigned_abs()));
    }
}
