use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use claimstream_domain::Reason;

/// What all calls of a handler know of its broker: how much it has confirmed, and whether it is away.
pub(crate) struct Pulse {
    /// The broker, for logs.
    name: String,
    confirmed: AtomicU64,
    away_since: Mutex<Option<Duration>>,
}

impl Pulse {
    pub(crate) fn of(name: &str) -> Self {
        Self { name: name.to_owned(), confirmed: AtomicU64::new(0), away_since: Mutex::default() }
    }

    /// How many messages the broker has confirmed.
    pub(crate) fn confirmed(&self) -> u64 {
        self.confirmed.load(Relaxed)
    }

    /// Since when the broker has confirmed nothing, by the handler's timer; `None` while it confirms.
    pub(crate) fn away_since(&self) -> Option<Duration> {
        *self.away()
    }

    /// Notes what one call brought; logs when the broker goes away, and when it is back.
    pub(crate) fn note(&self, confirmed: u64, unconfirmed: Option<&Reason>, now: Duration) {
        self.confirmed.fetch_add(confirmed, Relaxed);
        let target = &self.name;
        if confirmed > 0 && self.away().take().is_some() {
            tracing::info!(target_name = target, "the broker confirms messages again");
        }
        if let (0, Some(reason)) = (confirmed, unconfirmed)
            && self.goes_away(now)
        {
            tracing::warn!(target_name = target, %reason, "the broker confirms nothing; messages wait and lose no attempt");
        }
    }

    /// Whether it was there before.
    fn goes_away(&self, now: Duration) -> bool {
        let mut away = self.away();
        let was_there = away.is_none();
        away.get_or_insert(now);
        was_there
    }

    fn away(&self) -> MutexGuard<'_, Option<Duration>> {
        self.away_since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
