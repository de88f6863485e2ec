use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::store_timer::StoreTimer;

/// When connections were last seen to break.
///
/// A server that restarts, or is no primary any more, breaks all connections at once, and those in the pool do not know it
/// yet: whatever was opened before is closed when a call asks for it. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outage {
    timer: StoreTimer,
    last: Arc<Mutex<Option<Duration>>>,
}

impl Outage {
    pub(crate) fn new(timer: StoreTimer) -> Self {
        Self { timer, last: Arc::default() }
    }

    /// The time by which it judges.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file is not replaced"))]
    pub(crate) fn now(&self) -> Duration {
        self.timer.now()
    }

    /// Notes that a connection has broken.
    pub(crate) fn note(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.timer.now());
    }

    /// Whether a connection of this age may be used.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file does not break connections"))]
    pub(crate) fn trusts(&self, age: Duration) -> bool {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_none_or(|last| age < self.timer.now().saturating_sub(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_opened_since_is_trusted() {
        let (timer, hand) = StoreTimer::by_hand();
        let outage = Outage::new(timer);
        assert!(outage.trusts(Duration::MAX));
        outage.note();
        assert!(!outage.trusts(Duration::from_secs(1)));
        assert!(!outage.trusts(Duration::ZERO));
        hand.advance(Duration::from_millis(2));
        assert!(!outage.trusts(Duration::from_millis(2)));
        assert!(outage.trusts(Duration::ZERO));
    }
}
