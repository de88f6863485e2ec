use std::{
    future::poll_fn,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use claimstream_ports::Timer;
use futures::FutureExt;

use super::write_group::{PendingSettlement, WriteGroup};

/// Settlements that are waiting to be written together.
///
/// It is open until it is full or taken for writing. It becomes ripe, which means that it is to be taken, when it is
/// full, when its age is reached, or when a caller reports that no more can come.
#[derive(Default)]
pub(crate) struct SettlementBatch {
    content: Mutex<Content>,
}

#[derive(Default)]
struct Content {
    group: WriteGroup,
    ripe: bool,
    taken: bool,
}

impl SettlementBatch {
    /// Takes in as many of these settlements as fit, none if it is no longer open, and says how many.
    pub(crate) fn take_in(&self, entries: impl Iterator<Item = PendingSettlement>, most: usize) -> usize {
        let mut content = self.content();
        let before = content.group.len();
        let room = if content.taken { 0 } else { most.saturating_sub(before) };
        entries.take(room).for_each(|entry| content.group.push(entry));
        let after = content.group.len();
        content.ripe |= after >= most;
        after - before
    }

    /// How many settlements have joined and were not taken.
    pub(crate) fn len(&self) -> usize {
        self.content().group.len()
    }

    /// Says that no more settlements can come. The caller must then poll the batch's writing.
    pub(crate) fn ripen(&self) {
        self.content().ripe = true;
    }

    /// Whether it is ripe and not taken yet.
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
    pub(crate) fn take(&self) -> WriteGroup {
        let mut content = self.content();
        content.taken = true;
        mem::take(&mut content.group)
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
