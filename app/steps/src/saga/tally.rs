use std::sync::atomic::{AtomicU64, Ordering};

use claimstream_domain::saga::SagaState;

/// What one [`Saga`](super::Saga) and its clones have done since it was built.
///
/// `finished`, `failed` and `alarms` count sagas, each once, with the process that brought them there: their sums over all
/// processes are how many sagas have ended. The others count deliveries and calls, of which one saga may have many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SagaTally {
    /// Sagas that were brought to `Finish` here.
    pub finished: u64,
    /// Sagas that were brought to `Fail` here.
    pub failed: u64,
    /// How often a saga had to be left for later.
    pub put_off: u64,
    /// How often a saga was to be called off when it was too late for that.
    pub too_late: u64,
    /// How often a step came late and was refused.
    pub refused: u64,
    /// Alarms that were raised, at most one of a kind for a saga.
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

    /// A saga's row was moved to this state, by this process.
    pub(super) fn moved(&self, to: SagaState) {
        match to {
            SagaState::Finish => Self::count(&self.finished),
            SagaState::Fail => Self::count(&self.failed),
            SagaState::Init | SagaState::Committing | SagaState::ToRollback => {}
        }
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
