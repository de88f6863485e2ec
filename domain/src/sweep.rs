use std::time::Duration;

/// How a sweep spaces the chunks in which it deletes, so that it hardly slows writers down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SweepPace {
    chunk: u32,
}

impl SweepPace {
    /// The most rows of one chunk.
    pub const MOST: u32 = 500;
    const LEAST: u32 = 10;
    const FIRST: u32 = 100;
    /// A chunk that takes longer is too large.
    const LONG: Duration = Duration::from_millis(50);
    /// A sweep works for a quarter of the time.
    const REST: u32 = 3;
    /// Rows that another session has locked for long say nothing about the server.
    const LONGEST_REST: Duration = Duration::from_secs(5);

    /// How many rows the next chunk has at most.
    pub fn chunk(self) -> u32 {
        self.chunk
    }

    /// The one place that decides what follows a chunk: how large the next one is, and how long to rest before it.
    ///
    /// A chunk that took long halves the next one and a short one doubles it; the rest is three times as long as the chunk
    /// took, and five seconds at most.
    pub fn after(self, took: Duration) -> (Self, Duration) {
        let chunk = match took {
            long if long > Self::LONG => self.chunk / 2,
            short if short < Self::LONG / 4 => self.chunk.saturating_mul(2),
            _ => self.chunk,
        };
        let rest = took.saturating_mul(Self::REST).min(Self::LONGEST_REST);
        (Self { chunk: chunk.clamp(Self::LEAST, Self::MOST) }, rest)
    }
}

impl Default for SweepPace {
    fn default() -> Self {
        Self { chunk: Self::FIRST }
    }
}

/// Signs of load on the database that a sweep gives way to, as far as they are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// The length of InnoDB's history list: the number of transactions that InnoDB cannot purge yet.
    pub history: Option<u64>,
    /// How far the replicas are behind.
    pub lag: Option<Duration>,
}

/// The highest load under which a sweep continues; under more it waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadLimit {
    /// The longest history list; 100,000.
    pub history: u64,
    /// The longest lag; 10 s.
    pub lag: Duration,
}

impl LoadLimit {
    /// Whether a sweep may go on; an unknown load does not stop it.
    pub fn allows(&self, load: Load) -> bool {
        load.history.is_none_or(|history| history <= self.history)
            && load.lag.is_none_or(|lag| lag <= self.lag)
    }
}

impl Default for LoadLimit {
    fn default() -> Self {
        Self { history: 100_000, lag: Duration::from_secs(10) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn times() -> impl Strategy<Value = Vec<Duration>> {
        prop::collection::vec((0..10_000_000_u64).prop_map(Duration::from_micros), 0..50)
    }

    proptest! {
        #[test]
        fn chunks_stay_within_their_bounds_and_rests_in_proportion(times in times()) {
            let mut pace = SweepPace::default();
            for took in times {
                let (next, rest) = pace.after(took);
                prop_assert!((SweepPace::LEAST..=SweepPace::MOST).contains(&next.chunk()));
                prop_assert!(rest == took * 3 || rest == SweepPace::LONGEST_REST && took * 3 > rest);
                prop_assert!(took <= SweepPace::LONG || next.chunk() <= pace.chunk());
                pace = next;
            }
        }

        #[test]
        fn chunks_settle_where_they_are_neither_long_nor_idle(micros_a_row in 1..100_000_u32) {
            let row = Duration::from_micros(u64::from(micros_a_row));
            let mut pace = SweepPace::default();
            for _ in 0..10 {
                pace = pace.after(row * pace.chunk()).0;
            }
            let took = row * pace.chunk();
            prop_assert!(took <= SweepPace::LONG * 2 || pace.chunk() == SweepPace::LEAST);
            prop_assert!(took >= SweepPace::LONG / 8 || pace.chunk() == SweepPace::MOST);
        }

        #[test]
        fn what_is_known_must_be_within_its_limit(
            history in prop::option::of(0..1000_u64), lag in prop::option::of(0..1000_u64),
            most in 0..1000_u64, longest in 0..1000_u64,
        ) {
            let load = Load { history, lag: lag.map(Duration::from_secs) };
            let limit = LoadLimit { history: most, lag: Duration::from_secs(longest) };
            let over = history.is_some_and(|n| n > most) || lag.is_some_and(|n| n > longest);
            prop_assert_eq!(limit.allows(load), !over);
            prop_assert!(limit.allows(Load::default()));
        }
    }
}
