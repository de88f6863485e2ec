use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// When connections were last seen to break.
///
/// A server that restarts, or is no primary any more, breaks all connections at once, and those in the pool do not know it
/// yet: whatever was opened before is closed when somebody asks for it. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outage(Arc<Mutex<Option<Instant>>>);

impl Outage {
    /// Notes that a connection has broken.
    pub(crate) fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether a connection of this age may be used.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file does not break connections"))]
    pub(crate) fn trusts(&self, age: Duration) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_none_or(|last| age < last.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_opened_since_is_trusted() {
        let outage = Outage::default();
        assert!(outage.trusts(Duration::MAX));
        outage.note();
        assert!(!outage.trusts(Duration::from_secs(1)));
        std::thread::sleep(Duration::from_millis(2));
        assert!(outage.trusts(Duration::ZERO));
    }
}
