use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::FindingGroup;
use claimstream_ports::{SelfCheck, StoreError, Timer, within};
use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};

/// The findings of the self-check, made once for all who look.
pub(crate) struct Examination {
    check: Option<Arc<dyn SelfCheck>>,
    timer: Arc<dyn Timer>,
    newest: Mutex<Option<(Duration, Shared<BoxFuture<'static, ExaminationResult>>)>>,
}

/// What one self-check has found.
#[derive(Clone, Debug)]
pub(crate) struct Examined {
    pub(crate) groups: Vec<FindingGroup>,
    at: Duration,
}

/// Why there are no findings.
#[derive(Clone, Debug)]
pub(crate) enum NotExamined {
    /// This board has no self-check.
    Nowhere,
    /// The store refused.
    Refused(Arc<StoreError>),
    /// It takes too long.
    Slow,
}

type ExaminationResult = Result<Arc<Examined>, NotExamined>;

impl Examination {
    /// A check begins at most this often, however many look, and also if the last one has failed.
    pub(crate) const EVERY: Duration = Duration::from_secs(60);
    /// How long a check may take.
    pub(crate) const LONGEST: Duration = Duration::from_secs(10);

    pub(crate) fn of(check: Option<Arc<dyn SelfCheck>>, timer: Arc<dyn Timer>) -> Self {
        Self { check, timer, newest: Mutex::default() }
    }

    /// The newest findings, at most a minute old.
    pub(crate) async fn ask(&self) -> ExaminationResult {
        let Some(check) = &self.check else { return Err(NotExamined::Nowhere) };
        let running = {
            let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
            let now = self.timer.now();
            newest.take_if(|(begun, _)| now - *begun >= Self::EVERY);
            let begin = || (now, begin(Arc::clone(check), Arc::clone(&self.timer)));
            newest.get_or_insert_with(begin).1.clone()
        };
        running.await
    }
}

impl Examined {
    /// How long ago the check ended.
    pub(crate) fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.at)
    }
}

/// Checks in a task of its own, so that a user who leaves takes nothing away from the others.
fn begin(check: Arc<dyn SelfCheck>, timer: Arc<dyn Timer>) -> Shared<BoxFuture<'static, ExaminationResult>> {
    let task = tokio::spawn(async move {
        match within(&*timer, Examination::LONGEST, check.check()).await {
            Some(Ok(groups)) => Ok(Arc::new(Examined { groups, at: timer.now() })),
            Some(Err(error)) => Err(NotExamined::Refused(Arc::new(error))),
            None => Err(NotExamined::Slow),
        }
    });
    task.map(|ended| ended.unwrap_or(Err(NotExamined::Slow))).boxed().shared()
}

#[cfg(test)]
mod tests {
    //! Promise: the board runs the checks of doctor once a minute at most, for any number of users, also
    //! when they fail
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use async_trait::async_trait;
    use claimstream_ports::StoreErrorKind;
    use claimstream_tokio::TokioTimer;
    use futures::future::join_all;
    use tokio::time::{advance, sleep, timeout};

    use super::*;

    /// Counts its calls.
    struct Counting {
        calls: AtomicU32,
        takes: Duration,
        fails: bool,
    }

    #[async_trait]
    impl SelfCheck for Counting {
        async fn check(&self) -> Result<Vec<FindingGroup>, StoreError> {
            self.calls.fetch_add(1, Relaxed);
            sleep(self.takes).await;
            match self.fails {
                true => Err(StoreError::new(StoreErrorKind::Unavailable, "doctor", "gone")),
                false => Ok(vec![]),
            }
        }
    }

    fn examination(takes: u64, fails: bool) -> (Arc<Counting>, Examination) {
        let check = Counting { calls: AtomicU32::new(0), takes: Duration::from_secs(takes), fails };
        let check = Arc::new(check);
        (Arc::clone(&check), Examination::of(Some(check), Arc::new(TokioTimer::new())))
    }

    /// Guard: checks run once a minute | `ask`: a check for each
    #[tokio::test(start_paused = true)]
    async fn it_is_made_once_a_minute_for_all_who_look() {
        let (check, examination) = examination(3, false);
        assert!(timeout(Duration::from_secs(1), examination.ask()).await.is_err(), "a user leaves");
        assert!(join_all((0..20).map(|_| examination.ask())).await.iter().all(Result::is_ok));
        advance(Duration::from_secs(50)).await;
        let age = examination.ask().await.unwrap().age(examination.timer.now());
        assert_eq!(age, Duration::from_secs(50));
        assert_eq!(check.calls.load(Relaxed), 1);
        advance(Duration::from_secs(7)).await;
        assert!(examination.ask().await.is_ok());
        assert_eq!(check.calls.load(Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_fails_or_takes_long_is_not_made_again_at_once() {
        let (check, failing) = examination(0, true);
        for _ in 0..3 {
            assert!(matches!(failing.ask().await, Err(NotExamined::Refused(_))));
        }
        assert_eq!(check.calls.load(Relaxed), 1);
        let (check, slow) = examination(3_600, false);
        let begun = slow.timer.now();
        for _ in 0..3 {
            assert!(matches!(slow.ask().await, Err(NotExamined::Slow)));
        }
        assert_eq!((slow.timer.now() - begun, check.calls.load(Relaxed)), (Examination::LONGEST, 1));
        let none = Examination::of(None, Arc::new(TokioTimer::new()));
        assert!(matches!(none.ask().await, Err(NotExamined::Nowhere)));
    }
}
