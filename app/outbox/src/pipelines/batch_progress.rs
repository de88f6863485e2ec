use std::{collections::VecDeque, ops::Range, sync::Arc};

use claimstream_domain::Claimed;

use super::ended_attempt::ReasonSource;
use crate::{settle::ClaimHandle, stream::Batch};

/// The messages of a batch, and which of them have no verdict yet.
///
/// The first call of the handler is with all of them. Those that have no verdict when it ends are set apart, and further calls are with
/// one of them at a time.
pub(crate) struct BatchProgress {
    messages: Arc<Vec<Claimed>>,
    /// In the order of the messages; `None` where the attempt has ended, or the claim is no longer ours.
    handles: Vec<Option<ClaimHandle>>,
    /// Those that the call is with.
    called: Range<usize>,
    /// Those that are to be handed out alone.
    apart: VecDeque<usize>,
}

impl BatchProgress {
    pub(crate) fn new(batch: Batch) -> Self {
        let (messages, handles) = batch.into_parts();
        Self {
            called: 0..messages.len(),
            messages: Arc::new(messages),
            handles: handles.into_iter().map(Some).collect(),
            apart: VecDeque::new(),
        }
    }

    /// What the handler is to be called with.
    pub(crate) fn called(&self) -> (Arc<Vec<Claimed>>, Range<usize>) {
        (Arc::clone(&self.messages), self.called.clone())
    }

    /// How many messages the call is with.
    pub(crate) fn len(&self) -> usize {
        self.called.len()
    }

    /// Takes the claim of a message, by its index in the call; `None` if its attempt has ended or it is no longer ours.
    pub(crate) fn take(&mut self, index: usize) -> Option<(ClaimHandle, ReasonSource)> {
        let index = self.called.start + index;
        let handle = self.handles.get_mut(index)?.take()?;
        Some((handle, ReasonSource::OneOf(Arc::clone(&self.messages), index)))
    }

    /// Takes the claims that `is_lost` names.
    pub(crate) fn lose<'a>(
        &'a mut self,
        is_lost: impl Fn(&ClaimHandle) -> bool + 'a,
    ) -> impl Iterator<Item = ClaimHandle> + 'a {
        self.handles.iter_mut().filter_map(move |handle| handle.take_if(|handle| is_lost(handle)))
    }

    /// How many messages of the call have no verdict.
    pub(crate) fn without_verdict(&self) -> usize {
        self.called.clone().filter(|index| self.is_open(*index)).count()
    }

    /// Sets the messages apart that the call ended without a verdict on.
    pub(crate) fn set_apart(&mut self) {
        self.apart = self.called.clone().filter(|index| self.is_open(*index)).collect();
    }

    /// Goes on to the next message that is to be handed out alone; false if there is none.
    pub(crate) fn next_alone(&mut self) -> bool {
        while let Some(next) = self.apart.pop_front() {
            if self.is_open(next) {
                self.called = next..next + 1;
                return true;
            }
        }
        false
    }

    /// The claims of all messages that have no verdict.
    pub(crate) fn into_handles(self) -> impl Iterator<Item = ClaimHandle> {
        self.handles.into_iter().flatten()
    }

    fn is_open(&self, index: usize) -> bool {
        self.handles.get(index).is_some_and(Option::is_some)
    }
}
