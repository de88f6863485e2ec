use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use claimstream_domain::QueueStatus;
use claimstream_ports::{Observe, StoreError, Timer, within};
use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};

use crate::freshness::fresh_for;

/// How the queues stand, counted once for all who ask.
pub(crate) struct Observation {
    store: Arc<dyn Observe>,
    timer: Arc<dyn Timer>,
    state: Arc<Mutex<CountState>>,
}

/// One count of all queues.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) queues: Vec<QueueStatus>,
    at: Duration,
    took: Duration,
}

/// Why there is no count.
#[derive(Clone, Debug)]
pub(crate) enum NotCounted {
    /// The store refused.
    Refused(Arc<StoreError>),
    /// It takes too long.
    Slow,
}

#[derive(Default)]
struct CountState {
    newest: Option<Arc<Counted>>,
    running: Option<Shared<BoxFuture<'static, CountResult>>>,
}

type CountResult = Result<Arc<Counted>, NotCounted>;

impl Observation {
    /// How long a user waits for a newer count while there is an old one.
    const TIMEOUT: Duration = Duration::from_millis(100);
    /// How long the first user waits.
    const LONGEST: Duration = Duration::from_secs(8);

    pub(crate) fn of(store: Arc<dyn Observe>, timer: Arc<dyn Timer>) -> Self {
        Self { store, timer, state: Arc::default() }
    }

    /// The newest count, or an older one if a newer one takes long.
    pub(crate) async fn ask(&self) -> CountResult {
        let (old, running) = {
            let mut state = lock(&self.state);
            if let Some(newest) = state.newest.as_ref().filter(|newest| newest.is_fresh(self.timer.now())) {
                return Ok(Arc::clone(newest));
            }
            let begin = || begin(Arc::clone(&self.store), Arc::clone(&self.timer), Arc::clone(&self.state));
            (state.newest.clone(), state.running.get_or_insert_with(begin).clone())
        };
        let timer = &*self.timer;
        match old {
            Some(old) => Ok(within(timer, Self::TIMEOUT, running).await.and_then(Result::ok).unwrap_or(old)),
            None => within(timer, Self::LONGEST, running).await.unwrap_or(Err(NotCounted::Slow)),
        }
    }
}

impl Counted {
    /// How long ago it was counted.
    pub(crate) fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.at)
    }

    /// When it was counted, by the timer of the board.
    pub(crate) fn at(&self) -> Duration {
        self.at
    }

    /// For how long it is shown before the queues are counted again.
    pub(crate) fn lasts(&self) -> Duration {
        fresh_for(self.took)
    }

    fn is_fresh(&self, now: Duration) -> bool {
        self.age(now) < self.lasts()
    }
}

/// Counts in a task of its own, so that a user who leaves takes nothing away from the others.
fn begin(
    store: Arc<dyn Observe>,
    timer: Arc<dyn Timer>,
    state: Arc<Mutex<CountState>>,
) -> Shared<BoxFuture<'static, CountResult>> {
    let task = tokio::spawn(async move {
        let began = timer.now();
        let counted = store.observe().await;
        let at = timer.now();
        let outcome = counted
            .map(|queues| Arc::new(Counted { queues, at, took: at - began }))
            .map_err(|error| NotCounted::Refused(Arc::new(error)));
        let mut state = lock(&state);
        state.running = None;
        if let Ok(counted) = &outcome {
            state.newest = Some(Arc::clone(counted));
        }
        outcome
    });
    task.map(|ended| ended.unwrap_or(Err(NotCounted::Slow))).boxed().shared()
}

fn lock(state: &Mutex<CountState>) -> MutexGuard<'_, CountState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use async_trait::async_trait;
    use claimstream_domain::QueueName;
    use claimstream_ports::StoreErrorKind;
    use claimstream_tokio::TokioTimer;
    use futures::future::join_all;
    use tokio::time::{advance, sleep, timeout};

    use super::*;

    /// Counts its calls; each takes so many milliseconds.
    #[derive(Default)]
    struct Slow {
        takes: AtomicU64,
        calls: AtomicU64,
        fails: bool,
    }

    #[async_trait]
    impl Observe for Slow {
        async fn observe(&self) -> Result<Vec<QueueStatus>, StoreError> {
            let calls = self.calls.fetch_add(1, Relaxed) + 1;
            sleep(Duration::from_millis(self.takes.load(Relaxed))).await;
            if self.fails {
                return Err(StoreError::new(StoreErrorKind::Unavailable, "observe", "gone"));
            }
            let queue = QueueName::new("q").unwrap();
            Ok(vec![QueueStatus { depth: calls, ..QueueStatus::empty(queue) }])
        }
    }

    fn observation(takes: u64) -> (Arc<Slow>, Observation) {
        let store = Arc::new(Slow { takes: takes.into(), ..Slow::default() });
        (Arc::clone(&store), of(store))
    }

    fn of(store: Arc<Slow>) -> Observation {
        Observation::of(store, Arc::new(TokioTimer::new()))
    }

    async fn seen(observation: &Observation) -> u64 {
        observation.ask().await.unwrap().queues[0].depth
    }

    /// Guard: many users share one count | `ask`: a count for each
    #[tokio::test(start_paused = true)]
    async fn many_users_share_one_count() {
        let (store, observation) = observation(2);
        let all = join_all((0..50).map(|_| seen(&observation))).await;
        assert_eq!((all, store.calls.load(Relaxed)), (vec![1; 50], 1));
        advance(Duration::from_millis(1_900)).await;
        assert_eq!(seen(&observation).await, 1);
        advance(Duration::from_millis(200)).await;
        assert_eq!(seen(&observation).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_count_that_takes_long_is_shown_for_longer_and_an_old_one_in_its_place() {
        let (store, observation) = observation(120);
        assert_eq!(seen(&observation).await, 1);
        advance(Duration::from_secs(119)).await;
        assert_eq!(seen(&observation).await, 1);
        assert_eq!(store.calls.load(Relaxed), 1);
        advance(Duration::from_secs(2)).await;
        let began = observation.timer.now();
        assert_eq!(seen(&observation).await, 1);
        assert_eq!((observation.timer.now() - began, store.calls.load(Relaxed)), (Observation::TIMEOUT, 2));
        sleep(Duration::from_secs(1)).await;
        assert_eq!(seen(&observation).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_who_leaves_ends_no_count_and_a_count_that_fails_is_repeated() {
        let (store, observation) = observation(50);
        assert!(timeout(Duration::from_millis(10), observation.ask()).await.is_err());
        assert_eq!((seen(&observation).await, store.calls.load(Relaxed)), (1, 1));
        let failing = of(Arc::new(Slow { fails: true, ..Slow::default() }));
        for _ in 0..2 {
            assert!(
                matches!(failing.ask().await, Err(NotCounted::Refused(why)) if why.to_string().contains("gone"))
            );
        }
        let stuck = of(Arc::new(Slow { takes: 60_000.into(), ..Slow::default() }));
        assert!(matches!(stuck.ask().await, Err(NotCounted::Slow)));
    }
}
