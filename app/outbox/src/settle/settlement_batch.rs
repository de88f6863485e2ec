use std::{
    future::poll_fn,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use claimstream_domain::{Settled, Settlement};
use claimstream_ports::Timer;
use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};

use super::pending::Pending;

/// Settlements that are waiting to be written together.
///
/// It is open until it is full or taken for writing. It becomes ripe, which means that it is to be taken, when it is
/// full, when its age is reached, or when a caller reports that no more can come.
#[derive(Default)]
pub(crate) struct SettlementBatch(Mutex<Content>);

#[derive(Default)]
struct Content {
    group: WriteGroup,
    ripe: bool,
    taken: bool,
}

/// A batch that settlements may join, and what writes it.
#[derive(Clone)]
pub(crate) struct OpenBatch {
    pub(crate) batch: Arc<SettlementBatch>,
    pub(crate) writing: Writing,
}

/// The writing of a batch; it answers each settlement on the way.
pub(crate) type Writing = Shared<BoxFuture<'static, ()>>;

/// Settlements that are written in one call, and in the same order what each of them ends.
#[derive(Default)]
pub(crate) struct WriteGroup {
    pub(crate) settlements: Vec<Settlement>,
    pub(crate) pending: Vec<Pending>,
}

impl SettlementBatch {
    /// Takes in as many of these settlements as fit, none if it is no longer open, and says how many.
    pub(crate) fn take_in(
        &self,
        settlements: &mut impl Iterator<Item = (Settlement, Pending)>,
        most: usize,
    ) -> usize {
        let mut content = self.content();
        let before = content.group.len();
        let room = if content.taken { 0 } else { most.saturating_sub(before) };
        content.group.extend(settlements.take(room));
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WriteGroup {
    pub(crate) fn len(&self) -> usize {
        self.settlements.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.settlements.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Settlement, &Pending)> {
        self.settlements.iter().zip(&self.pending)
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = (Settlement, Pending)> {
        self.settlements.into_iter().zip(self.pending)
    }

    /// The settlement, if there is only one.
    pub(crate) fn only(&self) -> Option<&Settlement> {
        self.settlements.first().filter(|_| self.len() == 1)
    }

    pub(crate) fn earliest_deadline(&self) -> Option<Duration> {
        self.pending.iter().map(|pending| pending.deadline).min()
    }

    /// Each settlement by itself.
    pub(crate) fn apart(self) -> impl Iterator<Item = Self> {
        let one = |(settlement, pending)| Self { settlements: vec![settlement], pending: vec![pending] };
        self.into_iter().map(one)
    }

    pub(crate) fn halves(mut self) -> (Self, Self) {
        let half = self.len() / 2;
        let (settlements, pending) = (self.settlements.split_off(half), self.pending.split_off(half));
        (self, Self { settlements, pending })
    }

    /// Those that the store has answered, their answers, and those that it could not say anything about.
    pub(crate) fn known(self, settled: Vec<Settled>) -> (Self, Vec<Settled>, Self) {
        let is_known = |settled: &Settled| *settled != Settled::Unknown;
        if settled.iter().all(is_known) {
            return (self, settled, Self::default());
        }
        let mut each = settled.iter().map(is_known);
        let (known, unknown) = self.into_iter().partition(|_| each.next() == Some(true));
        (known, settled.into_iter().filter(is_known).collect(), unknown)
    }

    /// Those whose deadlines are still to come, and those whose have passed.
    pub(crate) fn split(self, now: Duration) -> (Self, Self) {
        if self.pending.iter().all(|pending| pending.deadline > now) {
            return (self, Self::default());
        }
        self.into_iter().partition(|(_, pending)| pending.deadline > now)
    }
}

impl Extend<(Settlement, Pending)> for WriteGroup {
    fn extend<T: IntoIterator<Item = (Settlement, Pending)>>(&mut self, iter: T) {
        for (settlement, pending) in iter {
            self.settlements.push(settlement);
            self.pending.push(pending);
        }
    }
}
