use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use claimstream_domain::Reason;

/// What all calls of a handler know of its broker: how much it has confirmed, and whether it is away.
pub(crate) struct Pulse {
    /// The broker, for logs.
    name: String,
    confirmed: AtomicU64,
    is_away: AtomicBool,
}

impl Pulse {
    pub(crate) fn of(name: &str) -> Self {
        Self { name: name.to_owned(), confirmed: AtomicU64::new(0), is_away: AtomicBool::new(false) }
    }

    /// How many messages the broker has confirmed.
    pub(crate) fn confirmed(&self) -> u64 {
        self.confirmed.load(Relaxed)
    }

    /// Notes what one call brought; logs when the broker goes away, and when it is back.
    pub(crate) fn note(&self, confirmed: u64, unconfirmed: Option<&Reason>) {
        self.confirmed.fetch_add(confirmed, Relaxed);
        let target = &self.name;
        if confirmed > 0 && self.is_away.swap(false, Relaxed) {
            tracing::info!(target_name = target, "the broker confirms messages again");
        }
        if let (0, Some(reason)) = (confirmed, unconfirmed)
            && !self.is_away.swap(true, Relaxed)
        {
            tracing::warn!(target_name = target, %reason, "the broker confirms nothing; messages wait and lose no attempt");
        }
    }
}
