use std::{fmt, sync::Arc, time::Duration};

use claimstream_ports::{Sleep, Timer, within};
use claimstream_tokio::TokioTimer;

/// The timer of an outbox: all that it waits for and measures goes by it. A clone is the same timer.
///
/// By default that is tokio's; tests hand in one that they turn by hand. It measures how long this process waits, while a
/// [`FrozenClock`](crate::FrozenClock) is the time of the database, by which messages are due and leases end.
///
/// What the driver waits for by itself stays on tokio's clock: how long its pools wait for a connection and keep an idle one
/// (`acquire_timeout`), and how old it says that a connection is.
#[derive(Clone)]
pub struct StoreTimer(Arc<dyn Timer>);

impl StoreTimer {
    /// An outbox that is opened with this waits by `timer`.
    pub fn new(timer: Arc<dyn Timer>) -> Self {
        Self(timer)
    }

    /// The time since some fixed moment.
    pub(crate) fn now(&self) -> Duration {
        self.0.now()
    }

    pub(crate) fn sleep(&self, duration: Duration) -> Sleep<'_> {
        self.0.sleep(duration)
    }

    /// What `future` comes to, or `None` if it takes longer than `limit`.
    pub(crate) async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        within(&*self.0, limit, future).await
    }

    /// Counts from now on.
    pub(crate) fn stopwatch(&self) -> Stopwatch {
        Stopwatch { timer: self.clone(), began: self.now() }
    }
}

impl Default for StoreTimer {
    fn default() -> Self {
        Self(Arc::new(TokioTimer::new()))
    }
}

impl fmt::Debug for StoreTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreTimer").field(&self.now()).finish()
    }
}

/// The time since it was taken from a [`StoreTimer`].
#[derive(Clone, Debug)]
pub(crate) struct Stopwatch {
    timer: StoreTimer,
    began: Duration,
}

impl Stopwatch {
    pub(crate) fn elapsed(&self) -> Duration {
        self.timer.now().saturating_sub(self.began)
    }
}

#[cfg(test)]
impl StoreTimer {
    /// One that a test turns by hand.
    pub(crate) fn by_hand() -> (Self, claimstream_ports::mock::HandTimer) {
        let hand = claimstream_ports::mock::HandTimer::default();
        (Self::new(Arc::new(hand.clone())), hand)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn what_takes_longer_than_its_limit_comes_to_nothing_and_what_is_in_time_is_answered() {
        let ((timer, hand), limit) = (StoreTimer::by_hand(), Duration::from_secs(20));
        let mut late = pin!(timer.timeout(limit, std::future::pending::<()>()));
        assert!(poll!(&mut late).is_pending());
        hand.advance(limit - Duration::from_nanos(1));
        assert!(poll!(&mut late).is_pending());
        hand.advance(Duration::from_nanos(1));
        assert_eq!(late.await, None);
        assert_eq!(timer.timeout(Duration::ZERO, async { 7 }).await, Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn without_another_timer_time_is_that_of_tokio() {
        let timer = StoreTimer::default();
        let slept = timer.stopwatch();
        timer.sleep(Duration::from_secs(60)).await;
        assert_eq!(slept.elapsed(), Duration::from_secs(60));
    }
}
