use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use claimstream_domain::Verdict;
use claimstream_ports::Verdicts;
use futures::task::AtomicWaker;

/// The verdicts that the handlers of a batch pipeline have given and that the pipeline has not taken yet.
#[derive(Default)]
pub(crate) struct VerdictBox {
    given: Mutex<Vec<GivenVerdict>>,
    waker: AtomicWaker,
}

/// One verdict.
pub(crate) struct GivenVerdict {
    /// The call of the handler that gave it.
    pub(crate) call: u64,
    /// The message, by its index in the batch of the call.
    pub(crate) index: usize,
    pub(crate) verdict: Verdict,
}

/// Where one call of a handler gives its verdicts.
pub(crate) struct Slot {
    pub(crate) verdicts: Arc<VerdictBox>,
    pub(crate) call: u64,
    /// How many messages the call has.
    pub(crate) messages: usize,
}

impl VerdictBox {
    /// Takes what has been given.
    pub(crate) fn take(&self) -> Vec<GivenVerdict> {
        mem::take(&mut *self.given())
    }

    /// Wakes no task for verdicts from now on: the task that takes them is at work.
    pub(crate) fn rest(&self) {
        drop(self.waker.take());
    }

    /// Wakes this task for verdicts from now on.
    pub(crate) fn watch(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    fn given(&self) -> MutexGuard<'_, Vec<GivenVerdict>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Verdicts for Slot {
    fn give(&self, index: usize, verdict: Verdict) {
        let Self { verdicts, call, messages } = self;
        if index >= *messages {
            tracing::debug!(index, messages, "a verdict names no message of its batch and is ignored");
            return;
        }
        verdicts.given().push(GivenVerdict { call: *call, index, verdict });
        verdicts.waker.wake();
    }
}
