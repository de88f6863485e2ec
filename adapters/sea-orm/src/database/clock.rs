use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use claimstream_domain::Timestamp;

use super::store_timer::StoreTimer;

/// A clock that stands still until it is moved, for tests: the server's own clock is set to it on every connection.
///
/// It counts microseconds of UTC since 1970. Clones share it. It is the time of the database; how long the outbox itself waits
/// goes by its [`StoreTimer`].
#[derive(Clone, Debug)]
pub struct FrozenClock(Arc<AtomicI64>);

impl FrozenClock {
    /// A clock that shows `micros`.
    pub fn at(micros: i64) -> Self {
        Self(Arc::new(AtomicI64::new(micros)))
    }

    /// What it shows.
    pub fn micros(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Moves it on.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(micros(by), Ordering::SeqCst);
    }
}

/// The store's clock, as far as it is known without a statement.
///
/// SQLite has no clock of its own, so the machine's is its clock. A server's clock is read with other answers, and a
/// reading is carried on by the monotonic clock for at most a second; then it is read again.
pub(crate) struct ServerClock {
    timer: StoreTimer,
    made: Duration,
    frozen: Option<FrozenClock>,
    reading: Mutex<Option<(i64, Duration)>>,
}

impl ServerClock {
    const TRUSTED_FOR: Duration = Duration::from_secs(1);

    pub(crate) fn new(frozen: Option<FrozenClock>, timer: StoreTimer) -> Self {
        Self { made: timer.now(), timer, frozen, reading: Mutex::default() }
    }

    /// The server's time now, if a reading is fresh enough.
    pub(crate) fn estimate(&self) -> Option<i64> {
        if let Some(frozen) = &self.frozen {
            return Some(frozen.micros());
        }
        let reading = *self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let (server, at) = reading?;
        let age = self.timer.now().saturating_sub(at);
        (age < Self::TRUSTED_FOR).then(|| server.saturating_add(micros(age)))
    }

    /// Notes what the server answered to a question that was sent at `asked`, by the outbox's timer.
    pub(crate) fn note(&self, server: i64, asked: Duration) {
        *self.reading.lock().unwrap_or_else(PoisonError::into_inner) = Some((server, asked));
    }

    /// Trusts no reading any more, after trouble: the next connection may lead to another server.
    pub(crate) fn forget(&self) {
        *self.reading.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Time since this clock was made, by the monotonic clock or the frozen one.
    pub(crate) fn elapsed(&self) -> Duration {
        match &self.frozen {
            Some(frozen) => Duration::from_micros(frozen.micros().max(0) as u64),
            None => self.timer.now().saturating_sub(self.made),
        }
    }

    /// The machine's time, which is SQLite's.
    pub(crate) fn local(&self) -> i64 {
        match &self.frozen {
            Some(frozen) => frozen.micros(),
            None => micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
        }
    }
}

/// A duration in whole microseconds, as far as time goes: up to the end of the year 9999.
pub(crate) fn micros(duration: Duration) -> i64 {
    let end = Timestamp::MAX.as_micros();
    i64::try_from(duration.as_micros()).map_or(end, |micros| micros.min(end))
}
