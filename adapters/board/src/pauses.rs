use std::{sync::Arc, time::Duration};

use claimstream_domain::{PausedQueue, QueueName};
use claimstream_ports::{PauseQueues, Timer, within};
use tokio::sync::Mutex;

/// Which queues are paused, read once for all who look.
pub(crate) struct PauseCache {
    store: Option<Arc<dyn PauseQueues>>,
    timer: Arc<dyn Timer>,
    newest: Mutex<Option<(Duration, PausedQueues)>>,
}

/// The queues that are paused; `None` if the store did not say.
pub(crate) type PausedQueues = Option<Arc<[PausedQueue]>>;

impl PauseCache {
    /// A list is shown again for so long.
    const FRESH: Duration = Duration::from_secs(2);
    /// How long a page waits for it.
    const TIMEOUT: Duration = Duration::from_secs(2);

    pub(crate) fn of(store: Option<Arc<dyn PauseQueues>>, timer: Arc<dyn Timer>) -> Self {
        Self { store, timer, newest: Mutex::default() }
    }

    /// What pauses and resumes, if this board has it.
    pub(crate) fn store(&self) -> Option<&Arc<dyn PauseQueues>> {
        self.store.as_ref()
    }

    /// All of them; none on a board that knows nothing of pauses.
    pub(crate) async fn all(&self) -> PausedQueues {
        let Some(store) = &self.store else { return Some(Arc::default()) };
        // Those who wait here share the answer.
        let mut newest = self.newest.lock().await;
        let now = self.timer.now();
        if let Some((_, known)) = newest.as_ref().filter(|(at, _)| now - *at < Self::FRESH) {
            return known.clone();
        }
        let known = match within(&*self.timer, Self::TIMEOUT, store.paused()).await {
            Some(Ok(paused)) => Some(paused.into()),
            Some(Err(error)) => {
                tracing::warn!(%error, "the board does not know which queues are paused");
                None
            }
            None => None,
        };
        *newest = Some((self.timer.now(), known.clone()));
        known
    }

    /// Forgets the list after a change, so that the next page shows it.
    pub(crate) async fn forget(&self) {
        *self.newest.lock().await = None;
    }
}

/// The pause of a queue among these.
pub(crate) fn of_queue<'a>(paused: &'a [PausedQueue], queue: &QueueName) -> Option<&'a PausedQueue> {
    paused.iter().find(|paused| paused.queue == *queue)
}

#[cfg(test)]
mod tests {
    use claimstream_domain::PauseNote;
    use claimstream_ports::{StoreError, StoreErrorKind, mock::MockPauseQueues};
    use claimstream_tokio::TokioTimer;
    use futures::future::join_all;
    use tokio::time::advance;

    use super::*;

    fn of(store: MockPauseQueues) -> PauseCache {
        PauseCache::of(Some(Arc::new(store)), Arc::new(TokioTimer::new()))
    }

    fn paused() -> PausedQueue {
        let (queue, note) = (QueueName::new("orders").unwrap(), PauseNote::new("ann", None).unwrap());
        PausedQueue { queue, since: Duration::ZERO, note }
    }

    /// Guard: the page after a pause shows it | `forget`: nothing
    #[tokio::test(start_paused = true)]
    async fn many_users_share_a_list_and_a_change_is_seen_at_once() {
        let (mut store, mut calls) = (MockPauseQueues::new(), 0);
        store.expect_paused().times(3).returning(move || {
            calls += 1;
            Ok(vec![paused(); calls])
        });
        let pauses = of(store);
        let seen = async || pauses.all().await.unwrap().len();
        assert_eq!(join_all((0..20).map(|_| seen())).await, [1; 20]);
        pauses.forget().await;
        assert_eq!(seen().await, 2);
        advance(PauseCache::FRESH).await;
        assert_eq!(seen().await, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_refuses_or_does_not_answer_leaves_it_open() {
        let mut store = MockPauseQueues::new();
        store
            .expect_paused()
            .times(1)
            .returning(|| Err(StoreError::new(StoreErrorKind::Unavailable, "paused", "gone")));
        let pauses = of(store);
        assert_eq!((pauses.all().await, pauses.all().await), (None, None), "it is not asked again at once");
        assert_eq!(PauseCache::of(None, Arc::new(TokioTimer::new())).all().await.unwrap().len(), 0);
    }
}
