use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, atomic::AtomicBool, atomic::Ordering::Relaxed},
    time::Duration,
};

use claimstream_domain::{QueueName, QueueStatus};
use claimstream_ports::Timer;
use tokio::runtime::Handle;

use crate::observation::{Counted, Observation};

/// How the queues stood during the last hour, as this process has counted them.
pub(crate) struct History {
    observation: Arc<Observation>,
    timer: Arc<dyn Timer>,
    is_kept: AtomicBool,
    past: Mutex<Past>,
}

/// How a queue stood at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// How long ago that was.
    pub(crate) age: Duration,
    /// For how long the queues were not counted again.
    pub(crate) lasts: Duration,
    pub(crate) status: QueueStatus,
}

#[derive(Default)]
struct Past {
    /// The oldest first.
    moments: VecDeque<Moment>,
}

struct Moment {
    /// When it was counted.
    at: Duration,
    lasts: Duration,
    queues: BTreeMap<QueueName, QueueStatus>,
}

impl History {
    /// How far back it reaches.
    pub(crate) const REACH: Duration = Duration::from_secs(60 * 60);
    /// How often the queues are counted for it.
    pub(crate) const EVERY: Duration = Duration::from_secs(15);
    /// So many queues are remembered at each moment: those with the most messages.
    const QUEUES: usize = 200;

    /// A history of nothing yet.
    pub(crate) fn of(observation: Arc<Observation>, timer: Arc<dyn Timer>) -> Self {
        Self { observation, timer, is_kept: AtomicBool::default(), past: Mutex::default() }
    }

    /// Counts for as long as the board lives, in a task of its own; where no runtime is there yet, from the first visit on.
    pub(crate) fn keep(self: &Arc<Self>) {
        if let Ok(runtime) = Handle::try_current()
            && !self.is_kept.swap(true, Relaxed)
        {
            runtime.spawn(count_again_and_again(Arc::downgrade(self), Arc::clone(&self.timer)));
        }
    }

    /// How a queue stood, the oldest first. A moment at which it was empty is one of them; a moment that was not counted is not.
    pub(crate) fn samples(&self, queue: &QueueName) -> Vec<Sample> {
        let (past, now) = (lock(&self.past), self.timer.now());
        let within = past.moments.iter().filter(|moment| now - moment.at <= Self::REACH);
        let sample = |moment: &Moment| Sample {
            age: now - moment.at,
            lasts: moment.lasts,
            status: moment.queues.get(queue).cloned().unwrap_or_else(|| QueueStatus::empty(queue.clone())),
        };
        within.map(sample).collect()
    }

    fn remember(&self, counted: &Counted) {
        let mut past = lock(&self.past);
        // An old count that was shown once more says nothing new.
        if past.moments.back().is_some_and(|last| last.at >= counted.at()) {
            return;
        }
        let now = self.timer.now();
        past.moments.retain(|moment| now - moment.at <= Self::REACH);
        let mut queues: Vec<&QueueStatus> = counted.queues.iter().collect();
        queues.sort_by_key(|status| std::cmp::Reverse(status.depth + status.dead));
        let kept = queues.into_iter().take(Self::QUEUES);
        let queues = kept.map(|status| (status.queue.clone(), status.clone())).collect();
        past.moments.push_back(Moment { at: counted.at(), lasts: counted.lasts(), queues });
    }
}

/// Ends with the board. A database that does not answer leaves a gap.
async fn count_again_and_again(history: Weak<History>, timer: Arc<dyn Timer>) {
    loop {
        timer.sleep(History::EVERY).await;
        let Some(history) = history.upgrade() else { return };
        if let Ok(counted) = history.observation.ask().await {
            history.remember(&counted);
        }
    }
}

fn lock(past: &Mutex<Past>) -> MutexGuard<'_, Past> {
    past.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    //! Promise: the board draws a queue's last hour, and leaves a gap where it could not count
    use claimstream_ports::{StoreError, StoreErrorKind, mock::MockObserve};
    use claimstream_tokio::TokioTimer;
    use tokio::time::sleep;

    use super::*;

    fn history(observe: MockObserve) -> Arc<History> {
        let timer: Arc<dyn Timer> = Arc::new(TokioTimer::new());
        let observation = Observation::of(Arc::new(observe), Arc::clone(&timer));
        Arc::new(History::of(Arc::new(observation), timer))
    }

    fn name(of: &str) -> QueueName {
        QueueName::new(of).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_hour_is_kept_and_an_outage_is_a_gap() {
        let (mut observe, mut calls) = (MockObserve::new(), 0);
        observe.expect_observe().returning(move || {
            calls += 1;
            if calls == 2 {
                return Err(StoreError::new(StoreErrorKind::Unavailable, "observe", "gone"));
            }
            Ok(vec![QueueStatus { depth: calls, due: calls, ..QueueStatus::empty(name("orders")) }])
        });
        let history = history(observe);
        history.keep();
        history.keep();
        sleep(History::EVERY * 3 + Duration::from_secs(1)).await;
        let depths =
            |queue| history.samples(&name(queue)).iter().map(|sample| sample.status.due).collect::<Vec<_>>();
        // The second count has failed: the one before is shown to users, and says nothing new here.
        assert_eq!((depths("orders"), depths("mails")), (vec![1, 3], vec![0, 0]));
        sleep(Duration::from_secs(2 * 60 * 60)).await;
        let samples = history.samples(&name("orders"));
        assert!(samples.iter().all(|sample| sample.age <= History::REACH), "{samples:?}");
        assert!((239..=241).contains(&samples.len()), "{}", samples.len());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_counted_for_a_board_that_is_gone() {
        let mut observe = MockObserve::new();
        observe.expect_observe().never();
        let gone = history(observe);
        gone.keep();
        drop(gone);
        sleep(History::EVERY * 3).await;
    }

    #[test]
    fn a_board_that_is_built_outside_a_runtime_counts_from_its_first_visit_on() {
        let history = history(MockObserve::new());
        history.keep();
        assert!(!history.is_kept.load(Relaxed));
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_queues_the_fullest_are_kept() {
        let mut observe = MockObserve::new();
        observe.expect_observe().returning(|| {
            let status = |n| QueueStatus { depth: n, due: n, ..QueueStatus::empty(name(&format!("q{n}"))) };
            Ok((1..=201).map(status).collect())
        });
        let history = history(observe);
        history.keep();
        sleep(History::EVERY * 2).await;
        let due = |n| history.samples(&name(&format!("q{n}")))[0].status.due;
        assert_eq!([due(1), due(2), due(201)], [0, 2, 201]);
    }
}
