use std::time::Duration;

use claimstream_ports::{Sleep, Timer};
use tokio::time::Instant;

/// Tokio's clock and sleep; time that a test pauses or moves is followed.
#[derive(Clone, Copy, Debug)]
pub struct TokioTimer {
    start: Instant,
}

impl TokioTimer {
    /// A timer that counts from now on.
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for TokioTimer {
    fn default() -> Self {
        Self::new()
    }
}

impl Timer for TokioTimer {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        // Without tokio's budget for a task, which work that is always ready uses up before its time limit is looked at.
        Box::pin(tokio::task::unconstrained(async move { tokio::time::sleep(duration).await }))
    }

    fn spawn(&self, work: Sleep<'static>) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_sleep_ends_no_earlier_than_asked_by_the_same_clock() {
        let timer = TokioTimer::new();
        let asked = Duration::from_millis(1_500);
        let before = timer.now();
        timer.sleep(asked).await;
        let slept = timer.now() - before;
        assert!(slept >= asked && slept < asked + Duration::from_millis(10), "{slept:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn now_follows_a_clock_that_is_moved_by_hand() {
        let timer = TokioTimer::new();
        let copy = timer;
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!(timer.now(), Duration::from_secs(3_600));
        assert_eq!(copy.now(), timer.now());
    }

    /// The work never waits, so the clock cannot be paused.
    #[tokio::test]
    async fn a_limit_ends_work_that_is_always_ready() {
        let busy = async {
            loop {
                tokio::task::coop::consume_budget().await;
            }
        };
        let limit = Duration::from_millis(1);
        assert_eq!(claimstream_ports::within(&TokioTimer::new(), limit, busy).await, None::<()>);
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_sleep_stops() {
        let timer = TokioTimer::new();
        let long = timer.sleep(Duration::from_secs(60));
        assert!(tokio::time::timeout(Duration::from_secs(1), long).await.is_err());
        assert_eq!(timer.now(), Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_sleep_is_no_panic() {
        let timer = TokioTimer::new();
        let forever = timer.sleep(Duration::MAX);
        assert!(tokio::time::timeout(Duration::from_secs(1), forever).await.is_err());
    }
}
