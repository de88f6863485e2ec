use std::time::Duration;

use futures::future::AbortHandle;

use super::{batch_progress::BatchProgress, ended_attempt::ReasonSource};
use crate::settle::ClaimHandle;

/// A call of a handler that has not ended, and the claims of the messages that it is with.
pub(crate) struct Call {
    pub(crate) messages: CallMessages,
    pub(crate) stop: AbortHandle,
    pub(crate) began: Duration,
    /// When it has to be over; `None` once it is being stopped.
    pub(crate) end: Option<Duration>,
    /// Whether it was stopped because it has had all its time.
    pub(crate) timed_out: bool,
}

/// What a call is with.
pub(crate) enum CallMessages {
    One(ClaimHandle),
    Batch(Box<BatchProgress>),
}

impl Call {
    pub(crate) fn stop(&mut self) {
        self.end = None;
        self.stop.abort();
    }

    /// Takes the claim of a message of a batch, by its index in the call.
    pub(crate) fn take(&mut self, index: usize) -> Option<(ClaimHandle, ReasonSource)> {
        match &mut self.messages {
            CallMessages::One(_) => None,
            CallMessages::Batch(batch) => batch.take(index),
        }
    }

    /// Takes the claims out of a batch that `is_lost` names, and stops the call if that leaves it with none; true if it is with one
    /// message, which is lost.
    pub(crate) fn lose(
        &mut self,
        is_lost: impl Fn(&ClaimHandle) -> bool,
        handles: &mut Vec<ClaimHandle>,
    ) -> bool {
        let batch = match &mut self.messages {
            CallMessages::One(handle) => return is_lost(handle),
            CallMessages::Batch(batch) => batch,
        };
        let before = batch.without_verdict();
        handles.extend(batch.lose(is_lost));
        if before > 0 && batch.without_verdict() == 0 {
            self.stop();
        }
        false
    }

    /// The claims of all messages that have no verdict; the call is stopped.
    pub(crate) fn into_handles(self) -> impl Iterator<Item = ClaimHandle> {
        self.stop.abort();
        let (one, batch) = match self.messages {
            CallMessages::One(handle) => (Some(handle), None),
            CallMessages::Batch(batch) => (None, Some(batch.into_handles())),
        };
        one.into_iter().chain(batch.into_iter().flatten())
    }
}
