use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{ByteBudget, Claimed, Lease, QueueName, Receipt};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

/// Messages that were read and noted in a lease row beyond those that a claim asked for, for the claims after it.
///
/// They are in flight, because their lease row says so, but nobody has them in hand. So one read and one write of the lease
/// row do for several claims. Who claims on and on gets more ahead; once some have waited in vain there is nothing ahead for
/// a while.
#[derive(Default)]
pub(crate) struct ReadAhead {
    state: Mutex<State>,
    giving_back: Arc<RwLock<()>>,
}

#[derive(Default)]
struct State {
    queues: HashMap<QueueName, Pages>,
    /// Whether a task looks after what waits.
    watched: bool,
}

/// Messages that were read together and wait.
pub(crate) struct Page {
    /// The lease that they were read for.
    pub(crate) lease: Lease,
    /// Until when they may be handed out, on the monotonic clock: their lease then still lasts as long as it should.
    pub(crate) until: Duration,
    /// Whether the lease that they are under was lost.
    pub(crate) lost: Arc<AtomicBool>,
    pub(crate) waiting: VecDeque<Claimed>,
}

struct Pages {
    pages: VecDeque<Page>,
    /// How many claims' worth a read brings.
    share: usize,
    /// So many full reads more bring no more than was asked for.
    calm: u32,
    /// The bytes of a payload, as the newest full read has them.
    weight: usize,
}

impl Default for Pages {
    fn default() -> Self {
        Self { pages: VecDeque::new(), share: 1, calm: 0, weight: 0 }
    }
}

impl ReadAhead {
    /// Who claims less at a time is in no hurry.
    const LEAST_CLAIM: usize = 50;
    const MOST_SHARE: usize = 4;
    /// The most messages that one read brings for others than the claim itself.
    const MOST: usize = 1000;
    /// The most bytes that those come to.
    const MOST_BYTES: usize = 1 << 20;
    const CALM: u32 = 16;
    /// How long messages may wait; their lease is longer by that.
    pub(crate) const PATIENCE: Duration = Duration::from_millis(200);
    /// Under a shorter lease what waits too long could not be given back in time.
    const LEAST_LEASE: Duration = Duration::from_millis(1600);

    /// How much one read may bring for others than the claim itself.
    pub(crate) fn budget() -> ByteBudget {
        ByteBudget::default().lowered_to(Self::MOST_BYTES)
    }

    /// How many messages to read for a claim that wants so many; ahead no more than probably fit.
    pub(crate) fn reach(&self, queue: &QueueName, wanted: usize, lease: Lease) -> usize {
        if wanted < Self::LEAST_CLAIM || lease.duration() < Self::LEAST_LEASE {
            return wanted;
        }
        self.with(queue, |pages| {
            let light = Self::MOST_BYTES / pages.weight.max(1);
            let more = ((pages.share - 1) * wanted).min(Self::MOST).min(light);
            wanted + more
        })
    }

    /// Notes a read that brought all that it reached for, and what a payload weighed there.
    pub(crate) fn full(&self, queue: &QueueName, weight: usize) {
        self.with(queue, |pages| {
            pages.weight = weight;
            match pages.calm.checked_sub(1) {
                Some(calm) => pages.calm = calm,
                None => pages.share = (pages.share * 2).min(Self::MOST_SHARE),
            }
        });
    }

    /// Keeps messages for the next claims; whether somebody has to look after them from now on.
    pub(crate) fn keep(&self, queue: &QueueName, page: Page) -> bool {
        if page.waiting.is_empty() {
            return false;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.queues.entry(queue.clone()).or_default().pages.push_back(page);
        !std::mem::replace(&mut state.watched, true)
    }

    /// The next messages that wait and can be leased for so long, no more than `limit` and than the budget reaches for.
    pub(crate) fn next(
        &self,
        queue: &QueueName,
        limit: usize,
        budget: ByteBudget,
        lease: Lease,
        now: Duration,
    ) -> Vec<Claimed> {
        self.with(queue, |pages| {
            let (mut taken, mut in_hand) = (Vec::new(), None);
            for page in &mut pages.pages {
                if page.lost.load(Ordering::Relaxed) {
                    page.waiting.clear();
                }
                if now < page.until && lease <= page.lease {
                    let bytes = |claimed: &Claimed| claimed.message.payload.bytes().len();
                    let some = page.waiting.len().min(limit - taken.len());
                    let fitting = budget.fitting(in_hand, page.waiting.iter().take(some).map(bytes));
                    taken.extend(page.waiting.drain(..fitting));
                    in_hand = (!taken.is_empty()).then(|| taken.iter().map(bytes).sum());
                }
            }
            pages.pages.retain(|page| !page.waiting.is_empty());
            taken
        })
    }

    /// Takes away what has waited for too long, to be given back.
    pub(crate) fn stale(&self, queue: &QueueName, now: Duration) -> Vec<Receipt> {
        self.with(queue, |pages| pages.remove(|page| page.until <= now)).concat()
    }

    /// Takes away all that waits in a queue, to be given back.
    pub(crate) fn all(&self, queue: &QueueName) -> Vec<Receipt> {
        self.with(queue, |pages| pages.remove(|_| true)).concat()
    }

    /// Takes away what has waited for too long in any queue, page by page; and whether anything still waits, so that somebody
    /// has to look after it.
    pub(crate) fn take_stale(&self, now: Duration) -> (Vec<Vec<Receipt>>, bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let stale =
            state.queues.values_mut().flat_map(|pages| pages.remove(|page| page.until <= now)).collect();
        state.watched = state.queues.values().any(|pages| !pages.pages.is_empty());
        (stale, state.watched)
    }

    /// To be held from before pages are taken away until they have been given back.
    pub(crate) async fn begin_giving_back(&self) -> OwnedRwLockReadGuard<()> {
        Arc::clone(&self.giving_back).read_owned().await
    }

    /// Waits until nothing is on its way back.
    pub(crate) async fn all_given_back(&self) {
        drop(self.giving_back.write().await);
    }

    fn with<T>(&self, queue: &QueueName, act: impl FnOnce(&mut Pages) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.queues.contains_key(queue) {
            state.queues.insert(queue.clone(), Pages::default());
        }
        act(state.queues.entry(queue.clone()).or_default())
    }
}

impl Pages {
    /// Removes pages that were read in vain.
    fn remove(&mut self, in_vain: impl Fn(&Page) -> bool) -> Vec<Vec<Receipt>> {
        let (removed, kept): (VecDeque<Page>, VecDeque<Page>) =
            std::mem::take(&mut self.pages).into_iter().partition(in_vain);
        self.pages = kept;
        if !removed.is_empty() {
            (self.share, self.calm) = (1, ReadAhead::CALM);
        }
        let ours = removed.into_iter().filter(|page| !page.lost.load(Ordering::Relaxed));
        ours.map(|page| page.waiting.into_iter().map(|claimed| claimed.receipt).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::{ClaimId, InstanceId, Locator, Message, MessageId, Payload, Shard};
    use uuid::Uuid;

    use super::*;

    fn page(ids: std::ops::Range<u128>, until: u64) -> Page {
        let waiting = ids.map(waiting).collect();
        Page { lease: lease(30), until: Duration::from_secs(until), lost: Arc::default(), waiting }
    }

    fn lease(secs: u64) -> Lease {
        Lease::new(Duration::from_secs(secs)).expect("a lease")
    }

    fn waiting(id: u128) -> Claimed {
        let (id, queue, shard) = (MessageId::new(Uuid::from_u128(id)), queue(), Shard::from_number(0));
        let claim = ClaimId::new(InstanceId(1), 1);
        let receipt = Receipt { message: id, queue: queue.clone(), shard, claim, locator: Locator(1) };
        let payload = Payload::json("{}");
        let (ordering_key, headers) = (None, Default::default());
        let message = Message { id, queue, shard, ordering_key, headers, payload };
        Claimed { message, receipt, attempt: 1, last_error: None }
    }

    fn queue() -> QueueName {
        QueueName::new("q").expect("a name")
    }

    fn ids(claimed: &[Claimed]) -> Vec<u128> {
        claimed.iter().map(|claimed| claimed.receipt.message.uuid().as_u128()).collect()
    }

    const NOW: Duration = Duration::from_secs(10);

    #[test]
    fn what_waits_is_handed_out_once_and_in_order() {
        let ahead = ReadAhead::default();
        assert!(ahead.keep(&queue(), page(1..4, 11)));
        assert!(!ahead.keep(&queue(), page(4..6, 11)), "somebody looks after it already");
        assert_eq!(ids(&ahead.next(&queue(), 2, ByteBudget::default(), lease(30), NOW)), [1, 2]);
        assert_eq!(ids(&ahead.next(&queue(), 9, ByteBudget::default(), lease(30), NOW)), [3, 4, 5]);
        assert!(ahead.next(&queue(), 9, ByteBudget::default(), lease(30), NOW).is_empty());
        assert_eq!(ahead.take_stale(NOW), (vec![], false));
        assert!(ahead.keep(&queue(), page(7..8, 11)), "the last one who looked after it has left");
    }

    #[test]
    fn what_waits_is_handed_out_as_far_as_the_budget_reaches() {
        let ahead = ReadAhead::default();
        ahead.keep(&queue(), page(1..4, 11));
        ahead.keep(&queue(), page(4..5, 11));
        let next = |bytes| {
            let budget = ByteBudget::new(bytes).expect("a budget");
            ids(&ahead.next(&queue(), 9, budget, lease(30), NOW))
        };
        assert_eq!((next(1), next(5), next(9)), (vec![1], vec![2, 3], vec![4]), "two bytes each");
    }

    #[test]
    fn what_has_waited_too_long_goes_back_and_is_not_handed_out() {
        let ahead = ReadAhead::default();
        ahead.keep(&queue(), page(1..3, 10));
        assert!(ahead.next(&queue(), 9, ByteBudget::default(), lease(30), NOW).is_empty());
        assert_eq!(ahead.stale(&queue(), NOW).len(), 2);
        ahead.keep(&queue(), page(1..3, 10));
        ahead.keep(&queue(), page(3..4, 11));
        let (stale, waits) = ahead.take_stale(NOW);
        assert_eq!((stale.concat().len(), waits), (2, true));
        assert_eq!(ahead.all(&queue()).len(), 1);
        assert_eq!(ahead.take_stale(NOW), (vec![], false));
    }

    #[test]
    fn who_asks_for_a_longer_lease_gets_nothing_that_was_read_for_a_shorter_one() {
        let ahead = ReadAhead::default();
        ahead.keep(&queue(), page(1..3, 11));
        ahead.keep(&queue(), Page { lease: lease(60), ..page(3..4, 11) });
        assert_eq!(ids(&ahead.next(&queue(), 9, ByteBudget::default(), lease(31), NOW)), [3]);
        assert_eq!(ids(&ahead.next(&queue(), 9, ByteBudget::default(), lease(1), NOW)), [1, 2]);
        ahead.full(&queue(), 500);
        assert_eq!(ahead.reach(&queue(), 100, lease(1)), 100);
    }

    #[test]
    fn what_is_under_a_lost_lease_is_nobody_s_to_hand_out_or_give_back() {
        let ahead = ReadAhead::default();
        let (lost, also_lost) = (page(1..3, 11), page(5..7, 11));
        lost.lost.store(true, Ordering::Relaxed);
        also_lost.lost.store(true, Ordering::Relaxed);
        ahead.keep(&queue(), lost);
        ahead.keep(&queue(), page(3..4, 11));
        assert_eq!(ids(&ahead.next(&queue(), 9, ByteBudget::default(), lease(30), NOW)), [3]);
        ahead.keep(&queue(), also_lost);
        assert!(ahead.all(&queue()).is_empty());
    }

    #[test]
    fn who_claims_on_gets_more_ahead_and_none_after_some_waited_in_vain() {
        let ahead = ReadAhead::default();
        let reach = |wanted| ahead.reach(&queue(), wanted, lease(2));
        assert_eq!(reach(100), 100);
        ahead.full(&queue(), 500);
        assert_eq!(reach(100), 200);
        (0..5).for_each(|_| ahead.full(&queue(), 500));
        assert_eq!((reach(100), reach(49), reach(900)), (400, 49, 1900));
        ahead.full(&queue(), 1 << 14);
        assert_eq!(reach(100), 164, "no more than a mebibyte ahead");
        ahead.keep(&queue(), page(1..2, 10));
        ahead.stale(&queue(), NOW);
        assert_eq!(reach(100), 100);
        (0..ReadAhead::CALM).for_each(|_| ahead.full(&queue(), 500));
        assert_eq!(reach(100), 100);
        ahead.full(&queue(), 500);
        assert_eq!(reach(100), 200);
    }
}
