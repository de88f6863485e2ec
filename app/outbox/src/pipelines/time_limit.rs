use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use claimstream_ports::Timer;
use futures::{FutureExt, future::BoxFuture};

use crate::setup::sleep;

/// Reports when a handler has had all the time that it gets; one sleep serves all attempts, because they end in the order in
/// which they began.
pub(crate) struct TimeLimit {
    timer: Arc<dyn Timer>,
    limit: Duration,
    sleep: Option<BoxFuture<'static, ()>>,
}

impl TimeLimit {
    pub(crate) fn new(timer: Arc<dyn Timer>, limit: Duration) -> Self {
        Self { timer, limit, sleep: None }
    }

    /// How long an attempt may take.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// What the timer's clock shows.
    pub(crate) fn now(&self) -> Duration {
        self.timer.now()
    }

    /// When an attempt that begins now begins, and when it has to be over, on the timer's clock.
    pub(crate) fn span(&self) -> (Duration, Duration) {
        let now = self.timer.now();
        (now, now.saturating_add(self.limit))
    }

    /// Ready with the time when `first`, the end of the oldest attempt, is over.
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>, first: Option<Duration>) -> Poll<Duration> {
        let Some(first) = first.filter(|first| *first < Duration::MAX) else { return Poll::Pending };
        loop {
            let timer = &self.timer;
            let over = || sleep(timer, first.saturating_sub(timer.now()));
            if self.sleep.get_or_insert_with(over).poll_unpin(cx).is_pending() {
                return Poll::Pending;
            }
            self.sleep = None;
            // The attempt that it was set for may have ended long ago.
            // Untested: the engine compares the end of each call as well
            let now = self.timer.now();
            if now >= first {
                return Poll::Ready(now);
            }
        }
    }
}
