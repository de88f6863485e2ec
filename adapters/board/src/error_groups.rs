use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::{DeadLetterListed, ErrorClass, QueueName};
use claimstream_ports::{DeadLetters, StoreError, Timer};
use tokio::sync::Mutex as Turn;

use crate::{
    freshness::fresh_for,
    selection::{Bounds, Selection},
};

/// The dead letters of queues by error, grouped once for all who look.
pub(crate) struct ErrorGroups {
    timer: Arc<dyn Timer>,
    slots: Mutex<HashMap<QueueName, Arc<GroupingTurn>>>,
}

/// The newest grouping of a queue; a user who groups keeps the turn, and the others wait for the result.
type GroupingTurn = Turn<Option<Arc<Grouped>>>;

/// The newest dead letters of one queue by error.
#[derive(Debug)]
pub(crate) struct Grouped {
    /// The most frequent first.
    pub(crate) groups: Vec<(ErrorClass, ErrorGroup)>,
    /// How many letters were looked at.
    pub(crate) looked_at: u64,
    /// Whether these are all that the queue has.
    pub(crate) is_whole: bool,
    at: Duration,
    took: Duration,
}

/// Letters of one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ErrorGroup {
    pub(crate) count: u64,
    pub(crate) newest: Duration,
    pub(crate) oldest: Duration,
}

/// How many newest letters are grouped, and how long that may take.
const BOUNDS: Bounds =
    Bounds { wanted: usize::MAX, looked_at: 10_000, time: Duration::from_millis(80), page: 500 };

impl ErrorGroups {
    /// Of how many queues a grouping is kept.
    const MOST: usize = 100;

    pub(crate) fn of(timer: Arc<dyn Timer>) -> Self {
        Self { timer, slots: Mutex::default() }
    }

    /// The newest grouping of a queue.
    pub(crate) async fn ask(
        &self,
        queue: &QueueName,
        store: &dyn DeadLetters,
    ) -> Result<Arc<Grouped>, StoreError> {
        let slot = self.slot(queue);
        let mut newest = slot.lock().await;
        if let Some(grouped) = newest.as_ref().filter(|grouped| grouped.is_fresh(self.timer.now())) {
            return Ok(Arc::clone(grouped));
        }
        let grouped = Arc::new(Grouped::of(queue, store, &*self.timer).await?);
        *newest = Some(Arc::clone(&grouped));
        Ok(grouped)
    }

    /// Forgets the grouping of a queue whose letters are being changed.
    pub(crate) fn forget(&self, queue: &QueueName) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(queue);
    }

    fn slot(&self, queue: &QueueName) -> Arc<GroupingTurn> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= Self::MOST && !slots.contains_key(queue) {
            slots.clear();
        }
        Arc::clone(slots.entry(queue.clone()).or_default())
    }
}

impl Grouped {
    /// How long ago they were grouped.
    pub(crate) fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.at)
    }

    fn is_fresh(&self, now: Duration) -> bool {
        self.age(now) < fresh_for(self.took)
    }

    async fn of(queue: &QueueName, store: &dyn DeadLetters, timer: &dyn Timer) -> Result<Self, StoreError> {
        let began = timer.now();
        let all = Selection { queue: queue.clone(), class: None, id: None };
        let part = all.part(store, None, BOUNDS, timer).await?;
        let at = timer.now();
        Ok(Self {
            groups: by_class(&part.chosen),
            looked_at: part.looked_at,
            is_whole: part.next.is_none(),
            at,
            took: at - began,
        })
    }
}

/// The classes of these letters, the most frequent first.
fn by_class(letters: &[DeadLetterListed]) -> Vec<(ErrorClass, ErrorGroup)> {
    let mut groups: BTreeMap<ErrorClass, ErrorGroup> = BTreeMap::new();
    for DeadLetterListed { reason, dead_for, .. } in letters {
        let first = ErrorGroup { count: 0, newest: *dead_for, oldest: *dead_for };
        let group = groups.entry(ErrorClass::of(reason)).or_insert(first);
        group.count += 1;
        group.newest = group.newest.min(*dead_for);
        group.oldest = group.oldest.max(*dead_for);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
    groups
}

#[cfg(test)]
mod tests {
    use claimstream_domain::DeadLetterPage;
    use claimstream_ports::{StoreErrorKind, mock::MockDeadLetters};
    use claimstream_tokio::TokioTimer;
    use futures::future::join_all;
    use tokio::time::advance;

    use super::*;

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    fn error_groups() -> ErrorGroups {
        ErrorGroups::of(Arc::new(TokioTimer::new()))
    }

    fn answering(times: usize) -> MockDeadLetters {
        let mut store = MockDeadLetters::new();
        store
            .expect_page()
            .times(times)
            .returning(|_, _, _| Ok(DeadLetterPage { letters: vec![], next: None }));
        store
    }

    #[tokio::test(start_paused = true)]
    async fn many_users_share_a_grouping_and_a_change_is_seen_at_once() {
        let (store, groups, orders) = (answering(4), error_groups(), queue("orders"));
        let seen = || groups.ask(&orders, &store);
        assert!(join_all((0..20).map(|_| seen())).await.iter().all(Result::is_ok));
        groups.ask(&queue("mails"), &store).await.unwrap();
        groups.forget(&orders);
        assert!(seen().await.unwrap().is_whole);
        advance(fresh_for(Duration::ZERO)).await;
        assert_eq!(seen().await.unwrap().age(groups.timer.now()), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_refuses_is_asked_again_and_few_queues_are_remembered() {
        let mut store = MockDeadLetters::new();
        let refuse = || StoreError::new(StoreErrorKind::Unavailable, "dead letters", "gone");
        store.expect_page().times(2).returning(move |_, _, _| Err(refuse()));
        let groups = error_groups();
        for _ in 0..2 {
            assert!(groups.ask(&queue("orders"), &store).await.is_err());
        }
        let (store, most) = (answering(3 * ErrorGroups::MOST), ErrorGroups::MOST);
        for number in 0..3 * most {
            groups.ask(&queue(&format!("q{number}")), &store).await.unwrap();
        }
        assert!(groups.slots.lock().unwrap().len() <= most);
    }
}
