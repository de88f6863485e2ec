use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{ByteBudget, Claimed, Lease, Receipt};

/// Messages that were read ahead together and wait.
pub(crate) struct Page {
    /// The lease that they were read for.
    pub(crate) lease: Lease,
    /// When they were read, on the monotonic clock.
    pub(crate) read_at: Duration,
    /// Until when they may be handed out, on the monotonic clock: their lease then still lasts as long as it should.
    pub(crate) until: Duration,
    /// Whether the lease that they are under was lost.
    pub(crate) lost: Arc<AtomicBool>,
    pub(crate) waiting: VecDeque<Claimed>,
}

/// The messages that were read ahead of one queue, and how much the next read brings.
pub(crate) struct Pages {
    pages: VecDeque<Page>,
    /// How many claims' worth a read brings.
    share: usize,
    /// So many full reads more bring no more than was asked for.
    pause: u32,
    /// The bytes of a payload, as the newest full read has them.
    weight: usize,
}

impl Default for Pages {
    fn default() -> Self {
        Self { pages: VecDeque::new(), share: 1, pause: 0, weight: 0 }
    }
}

impl Pages {
    /// A claim of fewer messages gets none ahead.
    const LEAST_CLAIM: usize = 50;
    const MOST_SHARE: usize = 4;
    /// The most messages that one read brings for later claims.
    const MOST: usize = 1000;
    /// The most bytes that those come to.
    pub(crate) const MOST_BYTES: usize = 1 << 20;
    pub(crate) const PAUSE: u32 = 16;
    /// Under a shorter lease what waits too long could not be given back in time.
    const LEAST_LEASE: Duration = Duration::from_millis(1600);

    /// How many messages to read for a claim that wants so many; ahead no more than probably fit.
    pub(crate) fn reach(&self, wanted: usize, lease: Lease) -> usize {
        if wanted < Self::LEAST_CLAIM || lease.duration() < Self::LEAST_LEASE {
            return wanted;
        }
        let light = Self::MOST_BYTES / self.weight.max(1);
        wanted + ((self.share - 1) * wanted).min(Self::MOST).min(light)
    }

    /// Notes a read that brought all that it reached for, and the weight of a payload there.
    pub(crate) fn full(&mut self, weight: usize) {
        self.weight = weight;
        match self.pause.checked_sub(1) {
            Some(pause) => self.pause = pause,
            None => self.share = (self.share * 2).min(Self::MOST_SHARE),
        }
    }

    pub(crate) fn keep(&mut self, page: Page) {
        self.pages.push_back(page);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The next messages that wait and can be leased for so long, no more than `limit` and than fit into the budget.
    pub(crate) fn next(
        &mut self,
        limit: usize,
        budget: ByteBudget,
        lease: Lease,
        now: Duration,
    ) -> Vec<Claimed> {
        let (mut taken, mut in_hand) = (Vec::new(), None);
        for page in &mut self.pages {
            if page.lost.load(Ordering::Relaxed) {
                page.waiting.clear();
            }
            if now < page.until && lease <= page.lease {
                let bytes = |claimed: &Claimed| claimed.message.payload.bytes().len();
                let some = page.waiting.len().min(limit - taken.len());
                let fitting = budget.fitting(in_hand, page.waiting.iter().take(some).map(bytes));
                let since = now.saturating_sub(page.read_at);
                let waiting = page.waiting.drain(..fitting);
                taken.extend(waiting.map(|claimed| Claimed { waited: claimed.waited + since, ..claimed }));
                in_hand = (!taken.is_empty()).then(|| taken.iter().map(bytes).sum());
            }
        }
        self.pages.retain(|page| !page.waiting.is_empty());
        taken
    }

    /// Removes the pages that have waited until `now`, to be given back.
    pub(crate) fn remove_stale(&mut self, now: Duration) -> Vec<Vec<Receipt>> {
        self.remove(|page| page.until <= now)
    }

    /// Removes all pages, to be given back.
    pub(crate) fn remove_all(&mut self) -> Vec<Vec<Receipt>> {
        self.remove(|_| true)
    }

    /// Removes pages that were read without use; after one the next reads bring nothing ahead for a while.
    fn remove(&mut self, is_unused: impl Fn(&Page) -> bool) -> Vec<Vec<Receipt>> {
        let (removed, kept): (VecDeque<Page>, VecDeque<Page>) =
            std::mem::take(&mut self.pages).into_iter().partition(is_unused);
        self.pages = kept;
        if !removed.is_empty() {
            (self.share, self.pause) = (1, Self::PAUSE);
        }
        let ours = removed.into_iter().filter(|page| !page.lost.load(Ordering::Relaxed));
        ours.map(|page| page.waiting.into_iter().map(|claimed| claimed.receipt).collect()).collect()
    }
}
