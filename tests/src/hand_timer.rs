use std::{
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    time::Duration,
};

use claimstream_ports::{Sleep, Timer};

/// A timer that is moved by hand. A clone is the same timer.
#[derive(Clone, Default)]
pub struct HandTimer {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    now: Duration,
    sleepers: Vec<Waker>,
}

impl HandTimer {
    /// Moves time forward and wakes whoever has slept enough.
    pub fn advance(&self, by: Duration) {
        let sleepers = {
            let mut state = self.state();
            state.now += by;
            std::mem::take(&mut state.sleepers)
        };
        sleepers.into_iter().for_each(Waker::wake);
    }

    /// Waits for `future` while time moves in steps of `step`, at most `most` of it.
    ///
    /// Time moves only when the future has come to rest and nothing is `busy`: a slow answer costs no time of this timer, and
    /// a future that waits for this timer alone costs no time of anybody's.
    pub async fn within<F: Future>(
        &self,
        most: Duration,
        step: Duration,
        busy: impl Fn() -> bool,
        future: F,
    ) -> Option<F::Output> {
        let mut future = std::pin::pin!(future);
        let end = self.now() + most;
        let mut patience = PATIENCE;
        loop {
            if let Poll::Ready(output) = futures::poll!(&mut future) {
                return Some(output);
            }
            if busy() && patience > 0 {
                if let Ok(output) = tokio::time::timeout(MOMENT, &mut future).await {
                    return Some(output);
                }
                patience -= 1;
                continue;
            }
            patience = PATIENCE;
            if self.now() >= end {
                return None;
            }
            self.advance(step);
            tokio::task::yield_now().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a call that is under way is waited for at a time.
const MOMENT: Duration = Duration::from_millis(3);

/// How many moments a call may be under way; one that takes longer waits for something that this future does not drive.
const PATIENCE: u32 = 300;

impl Timer for HandTimer {
    fn now(&self) -> Duration {
        self.state().now
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Box::pin(async move {
            let end = self.now() + duration;
            poll_fn(|cx| {
                let mut state = self.state();
                if state.now >= end {
                    return Poll::Ready(());
                }
                state.sleepers.push(cx.waker().clone());
                Poll::Pending
            })
            .await;
        })
    }
}
