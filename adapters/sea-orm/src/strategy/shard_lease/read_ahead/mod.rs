//! Messages that were read ahead, for the claims that follow.

mod pages;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::{ByteBudget, Claimed, Lease, QueueName, Receipt};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

pub(crate) use self::pages::Page;
use self::pages::Pages;

/// Messages that were read and noted in a lease row beyond those that a claim asked for, for the claims after it.
///
/// They are in flight, because their lease row says so, but no consumer has them. So one read and one write of the lease row
/// serve several claims. A relay that claims again and again gets more ahead; once some have waited without a claim nothing is read
/// ahead for a while.
#[derive(Default)]
pub(crate) struct ReadAhead {
    state: Mutex<State>,
    giving_back: Arc<RwLock<()>>,
}

#[derive(Default)]
struct State {
    queues: HashMap<QueueName, Pages>,
    /// Whether a task watches for messages that wait too long.
    watched: bool,
}

impl ReadAhead {
    /// How long messages may wait; their lease is longer by that.
    pub(crate) const HOLD: Duration = Duration::from_millis(200);

    /// How much one read may bring for later claims.
    pub(crate) fn budget() -> ByteBudget {
        ByteBudget::default().lowered_to(Pages::MOST_BYTES)
    }

    /// How many messages to read for a claim that wants so many; ahead no more than probably fit.
    pub(crate) fn reach(&self, queue: &QueueName, wanted: usize, lease: Lease) -> usize {
        self.with(queue, |pages| pages.reach(wanted, lease))
    }

    /// Notes a read that brought all that it reached for, and the weight of a payload there.
    pub(crate) fn full(&self, queue: &QueueName, weight: usize) {
        self.with(queue, |pages| pages.full(weight));
    }

    /// Keeps messages for the next claims; true if the caller has to start the task that watches them.
    pub(crate) fn keep(&self, queue: &QueueName, page: Page) -> bool {
        if page.waiting.is_empty() {
            return false;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.queues.entry(queue.clone()).or_default().keep(page);
        !std::mem::replace(&mut state.watched, true)
    }

    /// The next messages that wait and can be leased for so long, no more than `limit` and than fit into the budget.
    pub(crate) fn next(
        &self,
        queue: &QueueName,
        limit: usize,
        budget: ByteBudget,
        lease: Lease,
        now: Duration,
    ) -> Vec<Claimed> {
        self.with(queue, |pages| pages.next(limit, budget, lease, now))
    }

    /// Takes away the messages that have waited too long, to be given back.
    pub(crate) fn stale(&self, queue: &QueueName, now: Duration) -> Vec<Receipt> {
        self.with(queue, |pages| pages.remove_stale(now)).concat()
    }

    /// Takes away all that waits in a queue, to be given back.
    pub(crate) fn all(&self, queue: &QueueName) -> Vec<Receipt> {
        self.with(queue, Pages::remove_all).concat()
    }

    /// Takes away the messages that have waited too long in any queue, page by page, and says whether others still wait: then the
    /// task watches on.
    pub(crate) fn take_stale(&self, now: Duration) -> (Vec<Vec<Receipt>>, bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let stale = state.queues.values_mut().flat_map(|pages| pages.remove_stale(now)).collect();
        state.watched = state.queues.values().any(|pages| !pages.is_empty());
        (stale, state.watched)
    }

    /// A guard to keep from before pages are taken away until they have been given back.
    pub(crate) async fn begin_giving_back(&self) -> OwnedRwLockReadGuard<()> {
        Arc::clone(&self.giving_back).read_owned().await
    }

    /// Waits until no message is on its way back.
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use claimstream_domain::{ClaimId, InstanceId, Locator, Message, MessageId, Payload, Shard};
    use uuid::Uuid;

    use super::*;

    fn page(ids: std::ops::Range<u128>, until: u64) -> Page {
        let waiting = ids.map(waiting).collect();
        let (lease, until) = (lease(30), Duration::from_secs(until));
        Page { lease, read_at: NOW - Duration::from_millis(150), until, lost: Arc::default(), waiting }
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
        Claimed {
            message,
            receipt,
            attempt: 1,
            last_error: None,
            place: Default::default(),
            waited: Duration::ZERO,
        }
    }

    fn queue() -> QueueName {
        QueueName::new("q").expect("a name")
    }

    fn ids(claimed: &[Claimed]) -> Vec<u128> {
        claimed.iter().map(|claimed| claimed.receipt.message.uuid().as_u128()).collect()
    }

    const NOW: Duration = Duration::from_secs(10);

    #[test]
    fn messages_that_wait_are_handed_out_once_and_in_order() {
        let ahead = ReadAhead::default();
        assert!(ahead.keep(&queue(), page(1..4, 11)));
        assert!(!ahead.keep(&queue(), page(4..6, 11)), "a task watches already");
        assert_eq!(ids(&ahead.next(&queue(), 2, ByteBudget::default(), lease(30), NOW)), [1, 2]);
        assert_eq!(ids(&ahead.next(&queue(), 9, ByteBudget::default(), lease(30), NOW)), [3, 4, 5]);
        assert!(ahead.next(&queue(), 9, ByteBudget::default(), lease(30), NOW).is_empty());
        assert_eq!(ahead.take_stale(NOW), (vec![], false));
        assert!(ahead.keep(&queue(), page(7..8, 11)), "the task that watched has ended");
    }

    #[test]
    fn the_wait_of_a_message_goes_on_until_it_is_handed_out() {
        let ahead = ReadAhead::default();
        ahead.keep(&queue(), page(1..2, 11));
        let claimed = ahead.next(&queue(), 1, ByteBudget::default(), lease(30), NOW);
        assert_eq!(claimed[0].waited, Duration::from_millis(150));
    }

    #[test]
    fn messages_that_wait_are_handed_out_as_far_as_the_budget_reaches() {
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
    fn messages_that_have_waited_too_long_go_back_and_are_not_handed_out() {
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
    fn a_claim_with_a_longer_lease_gets_nothing_that_was_read_for_a_shorter_one() {
        let ahead = ReadAhead::default();
        ahead.keep(&queue(), page(1..3, 11));
        ahead.keep(&queue(), Page { lease: lease(60), ..page(3..4, 11) });
        assert_eq!(ids(&ahead.next(&queue(), 9, ByteBudget::default(), lease(31), NOW)), [3]);
        assert_eq!(ids(&ahead.next(&queue(), 9, ByteBudget::default(), lease(1), NOW)), [1, 2]);
        ahead.full(&queue(), 500);
        assert_eq!(ahead.reach(&queue(), 100, lease(1)), 100);
    }

    #[test]
    fn messages_under_a_lost_lease_are_neither_handed_out_nor_given_back() {
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
    fn a_relay_that_claims_again_gets_more_ahead_and_none_after_some_waited_without_a_claim() {
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
        (0..Pages::PAUSE).for_each(|_| ahead.full(&queue(), 500));
        assert_eq!(reach(100), 100);
        ahead.full(&queue(), 500);
        assert_eq!(reach(100), 200);
    }
}
