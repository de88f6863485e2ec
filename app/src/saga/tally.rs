use std::sync::atomic::{AtomicU64, Ordering};

/// What has become of the sagas that one [`Saga`](super::Saga) looked at, since it was built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SagaTally {
    /// How often one was brought to `Finish` or found there.
    pub finished: u64,
    /// How often one was brought to `Fail` or found there.
    pub failed: u64,
    /// How often one had to be left for later.
    pub put_off: u64,
    /// How often one was to be called off when it was too late for that.
    pub too_late: u64,
    /// How often a step came late and was refused.
    pub refused: u64,
    /// How often an alarm was raised.
    pub alarms: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) finished: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) put_off: AtomicU64,
    pub(super) too_late: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) alarms: AtomicU64,
}

impl Counters {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn tally(&self) -> SagaTally {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SagaTally {
            finished: read(&self.finished),
            failed: read(&self.failed),
            put_off: read(&self.put_off),
            too_late: read(&self.too_late),
            refused: read(&self.refused),
            alarms: read(&self.alarms),
        }
    }
}
