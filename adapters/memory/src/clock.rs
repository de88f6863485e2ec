use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime},
};

use claimstream_domain::Timestamp;

/// The clock of a memory store, in whole microseconds: the system's, or one that stands still until it is moved.
///
/// A clone is the same clock.
#[derive(Clone, Debug)]
pub struct MemoryClock {
    source: Source,
    moved: Arc<AtomicI64>,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    System,
    Standing(Timestamp),
}

impl MemoryClock {
    /// The system's clock.
    pub fn system() -> Self {
        Self { source: Source::System, moved: Arc::default() }
    }

    /// A clock that stands at `start` until it is moved.
    pub fn manual(start: Timestamp) -> Self {
        Self { source: Source::Standing(start), moved: Arc::default() }
    }

    /// Moves the clock forward; the system's clock runs on from there.
    pub fn advance(&self, by: Duration) {
        self.moved.fetch_add(micros(by), Ordering::SeqCst);
    }

    /// What the clock shows.
    pub fn now(&self) -> Timestamp {
        let base = match self.source {
            Source::System => Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::MAX),
            Source::Standing(start) => start,
        };
        later(base, self.moved.load(Ordering::SeqCst))
    }
}

impl Default for MemoryClock {
    fn default() -> Self {
        Self::system()
    }
}

/// The moment `by` after `start`, or the last moment there is.
pub(crate) fn after(start: Timestamp, by: Duration) -> Timestamp {
    later(start, micros(by))
}

/// How much later `end` is than `start`, if it is later at all.
pub(crate) fn between(start: Timestamp, end: Timestamp) -> Duration {
    Duration::from_micros(end.as_micros().saturating_sub(start.as_micros()).max(0).unsigned_abs())
}

fn later(start: Timestamp, micros: i64) -> Timestamp {
    Timestamp::from_micros(start.as_micros().saturating_add(micros)).unwrap_or(Timestamp::MAX)
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stands_until_it_is_moved_and_never_passes_the_year_9999() {
        let start = Timestamp::from_micros(1_000).unwrap();
        let clock = MemoryClock::manual(start);
        let same = clock.clone();
        clock.advance(Duration::from_nanos(2_999));
        assert_eq!(same.now().as_micros(), 1_002);
        assert_eq!(between(start, same.now()), Duration::from_micros(2));
        assert_eq!(between(same.now(), start), Duration::ZERO);
        assert_eq!(after(start, Duration::MAX), Timestamp::MAX);
    }

    #[test]
    fn the_system_clock_can_be_moved_too() {
        let (still, moved) = (MemoryClock::system(), MemoryClock::system());
        moved.advance(Duration::from_secs(3600));
        assert!(between(still.now(), moved.now()) > Duration::from_secs(3500));
    }
}
