use std::time::Duration;

/// For how long the answer to a costly question is shown again, given how long the store took for it.
///
/// Two seconds at least. Otherwise the question takes at most a thousandth of a connection's time, unless people would look at
/// numbers that are older than five minutes.
pub(crate) fn fresh_for(took: Duration) -> Duration {
    took.saturating_mul(SHARE).clamp(SHORTEST, LONGEST)
}

const SHARE: u32 = 1000;
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_little_is_asked_often_and_nothing_is_older_than_five_minutes() {
        let seconds = |millis| fresh_for(Duration::from_millis(millis)).as_secs();
        assert_eq!([0, 2, 20, 100, 240, 60_000].map(seconds), [2, 2, 20, 100, 240, 300]);
        assert_eq!(fresh_for(Duration::MAX), LONGEST);
    }
}
