use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

/// What the handlers of this process have been given. There is one, because some libraries make their handlers
/// themselves and leave no way to hand them anything.
pub(crate) static LEDGER: Ledger =
    Ledger(Mutex::new(Entries { handled: Vec::new(), last: SystemTime::UNIX_EPOCH }));

/// The numbers of messages in the order in which they were handled, and when the last one was.
pub(crate) struct Ledger(Mutex<Entries>);

struct Entries {
    handled: Vec<u64>,
    last: SystemTime,
}

impl Ledger {
    pub(crate) fn record(&self, numbers: impl IntoIterator<Item = u64>) {
        let mut entries = self.entries();
        entries.handled.extend(numbers);
        entries.last = SystemTime::now();
    }

    pub(crate) fn count(&self) -> usize {
        self.entries().handled.len()
    }

    /// When the last message was handled; 1970 if there was none.
    pub(crate) fn last(&self) -> SystemTime {
        self.entries().last
    }

    pub(crate) fn take(&self) -> Vec<u64> {
        mem::take(&mut self.entries().handled)
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
