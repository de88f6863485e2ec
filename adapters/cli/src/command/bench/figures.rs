use std::time::Duration;

use claimstream_sea_orm::Strategy;

use super::settings::SettingSaid;

/// What was measured.
pub(super) struct Figures {
    pub(super) server: String,
    /// The strategy that `auto` chooses here.
    pub(super) auto: Strategy,
    pub(super) each: Duration,
    pub(super) settings: Vec<SettingSaid>,
    pub(super) round_trip: Times,
    pub(super) commit: Times,
    pub(super) enqueue: Vec<Enqueueing>,
    pub(super) drain: Vec<(Strategy, Drained)>,
    pub(super) latency: Times,
}

/// How fast messages were enqueued.
pub(super) struct Enqueueing {
    pub(super) producers: u64,
    pub(super) per_transaction: u64,
    pub(super) messages: u64,
    pub(super) took: Duration,
    /// Of each transaction.
    pub(super) times: Times,
}

impl Enqueueing {
    pub(super) fn rate(&self) -> f64 {
        rate(self.messages, self.took)
    }
}

/// How fast a strategy claims and settles.
pub(super) enum Drained {
    /// So many messages in so long.
    Done { messages: u64, took: Duration },
    /// The server does not do it, and why.
    Unsupported(String),
}

/// So many a second; none in no time.
pub(super) fn rate(count: u64, took: Duration) -> f64 {
    if took.is_zero() { 0.0 } else { count as f64 / took.as_secs_f64() }
}

/// How long something took, time after time.
#[derive(Default)]
pub(super) struct Times(Vec<Duration>);

impl Times {
    pub(super) fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// Whether nothing was timed.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// How many a second, if one follows the other.
    pub(super) fn rate(&self) -> f64 {
        rate(self.count(), self.0.iter().sum())
    }

    /// The time that this share of all is not above; none without any.
    pub(super) fn percentile(&self, share: f64) -> Option<Duration> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() as f64 * share).ceil().max(1.0) as usize;
        sorted.get(rank - 1).copied()
    }
}

impl FromIterator<Duration> for Times {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        Self(times.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_not_above_its_percentile() {
        let times: Times = (1..=200).map(Duration::from_millis).collect();
        let of = |share| times.percentile(share).map(|time| time.as_millis());
        assert_eq!((of(0.5), of(0.99), of(1.0)), (Some(100), Some(198), Some(200)));
        assert_eq!(Times::default().percentile(0.5), None);
        assert_eq!(
            Times::from_iter([Duration::from_millis(5)]).percentile(0.99),
            Some(Duration::from_millis(5))
        );
    }

    #[test]
    fn a_rate_counts_by_the_second() {
        assert_eq!(rate(300, Duration::from_millis(1_500)), 200.0);
        assert_eq!(rate(300, Duration::ZERO), 0.0);
        assert_eq!(Times::from_iter([Duration::from_millis(250); 8]).rate(), 4.0);
    }
}
