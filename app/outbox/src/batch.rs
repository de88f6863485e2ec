use std::{
    future::poll_fn,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use claimstream_domain::{Settled, Settlement};
use claimstream_ports::{StoreError, Timer};
use futures::{FutureExt, channel::oneshot};

use crate::{dead_letter_event::Attempted, ticket::Ticket};

/// Settlements that are waiting to be written together.
///
/// It is open until it is full or taken for writing. It becomes ripe, which means that it is to be taken, when it is
/// full, when its age is reached, or when a caller reports that no more can come.
#[derive(Default)]
pub(crate) struct Batch {
    content: Mutex<Content>,
}

/// One settlement in a batch.
pub(crate) struct Entry {
    pub(crate) ticket: Ticket,
    pub(crate) settlement: Settlement,
    /// The attempt that it ends, as far as it is known.
    pub(crate) attempted: Attempted,
    /// When the claim must no longer be relied on.
    pub(crate) deadline: Duration,
    /// Where its outcome goes.
    pub(crate) answer: oneshot::Sender<Outcome>,
}

/// How one settlement ended.
pub(crate) type Outcome = Result<Settled, Arc<StoreError>>;

#[derive(Default)]
struct Content {
    entries: Vec<Entry>,
    ripe: bool,
    taken: bool,
}

impl Batch {
    /// Adds a settlement; gives it back if the batch is no longer open.
    pub(crate) fn join(&self, entry: Entry, most: usize) -> Result<(), Box<Entry>> {
        let mut content = self.content();
        if content.taken || content.entries.len() >= most {
            return Err(Box::new(entry));
        }
        content.entries.push(entry);
        content.ripe |= content.entries.len() >= most;
        Ok(())
    }

    /// Says that no more settlements can come. The caller must then poll the batch's writing.
    pub(crate) fn ripen(&self) {
        self.content().ripe = true;
    }

    /// Whether it is ripe and nobody has come yet to take it.
    pub(crate) fn is_left_ripe(&self) -> bool {
        let content = self.content();
        content.ripe && !content.taken
    }

    /// Waits until the batch is ripe, at most for `age`.
    pub(crate) async fn ripe(&self, timer: &dyn Timer, age: Duration) {
        if self.is_left_ripe() {
            return;
        }
        let mut old_enough = timer.sleep(age);
        poll_fn(|cx| if self.is_left_ripe() { Poll::Ready(()) } else { old_enough.poll_unpin(cx) }).await;
    }

    /// Closes the batch and takes its settlements.
    pub(crate) fn take(&self) -> Vec<Entry> {
        let mut content = self.content();
        content.taken = true;
        mem::take(&mut content.entries)
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
