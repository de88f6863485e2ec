use std::{
    collections::BTreeMap,
    future::poll_fn,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    time::Duration,
};

use crate::{Sleep, Timer};

/// A timer that stands still until a test turns it. A clone is the same timer.
///
/// ```
/// # use std::{pin::pin, task::{Context, Waker}};
/// use std::time::Duration;
///
/// use claimstream_ports::{Timer, mock::HandTimer};
///
/// let timer = HandTimer::default();
/// let mut sleep = timer.sleep(Duration::from_secs(60));
/// # let mut poll = || sleep.as_mut().poll(&mut Context::from_waker(Waker::noop()));
/// assert!(poll().is_pending());
/// assert_eq!(timer.next_wakeup(), Some(Duration::from_secs(60)));
///
/// timer.advance_to_next();
/// assert!(poll().is_ready());
/// assert_eq!(timer.now(), Duration::from_secs(60));
/// ```
#[derive(Clone, Debug, Default)]
pub struct HandTimer(Arc<Mutex<ClockState>>);

#[derive(Default)]
struct ClockState {
    now: Duration,
    /// How many sleeps have begun; orders sleeps with the same end.
    begun: u64,
    /// The sleeps under way, by their ends.
    sleepers: BTreeMap<(Duration, u64), Waker>,
    /// The tasks that wait for a sleep to begin.
    watchers: Vec<Waker>,
    spawned: Vec<Sleep<'static>>,
}

impl HandTimer {
    /// Turns the time on and wakes the sleepers whose time has come.
    pub fn advance(&self, by: Duration) {
        let due = {
            let mut state = self.state();
            state.now = state.now.saturating_add(by);
            let first_later = (state.now.saturating_add(Duration::from_nanos(1)), 0);
            let later = state.sleepers.split_off(&first_later);
            mem::replace(&mut state.sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }

    /// Turns the time on to the next wakeup; `false` if nothing sleeps.
    pub fn advance_to_next(&self) -> bool {
        let next = self.next_wakeup();
        next.map(|next| self.advance(next.saturating_sub(self.now()))).is_some()
    }

    /// The time, as [`now`](Timer::now) counts it, at which the next sleep ends.
    pub fn next_wakeup(&self) -> Option<Duration> {
        self.state().sleepers.keys().next().map(|(end, _)| *end)
    }

    /// How many sleeps are under way.
    pub fn sleepers(&self) -> usize {
        self.state().sleepers.len()
    }

    /// Waits until a sleep is under way that ends at this time or earlier. Then the code under test waits, and the test may
    /// turn the time.
    pub async fn asleep_until(&self, end: Duration) {
        poll_fn(|cx| {
            let mut state = self.state();
            if state.sleepers.keys().next().is_some_and(|(next, _)| *next <= end) {
                return Poll::Ready(());
            }
            state.watchers.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Takes the work that was handed to [`spawn`](Timer::spawn); the timer runs none of it.
    pub fn take_spawned(&self) -> Vec<Sleep<'static>> {
        mem::take(&mut self.state().spawned)
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Timer for HandTimer {
    fn now(&self) -> Duration {
        self.state().now
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Box::pin(async move {
            let key = {
                let mut state = self.state();
                state.begun += 1;
                (state.now.saturating_add(duration), state.begun)
            };
            let sleep = Sleeping { timer: self, key };
            poll_fn(|cx| {
                let mut state = sleep.timer.state();
                if state.now >= key.0 {
                    return Poll::Ready(());
                }
                state.sleepers.insert(key, cx.waker().clone());
                let watchers = mem::take(&mut state.watchers);
                drop(state);
                watchers.into_iter().for_each(Waker::wake);
                Poll::Pending
            })
            .await;
        })
    }

    fn spawn(&self, work: Sleep<'static>) {
        self.state().spawned.push(work);
    }
}

/// A sleep that has begun; it is no longer under way when it is dropped.
struct Sleeping<'a> {
    timer: &'a HandTimer,
    key: (Duration, u64),
}

impl Drop for Sleeping<'_> {
    fn drop(&mut self) {
        self.timer.state().sleepers.remove(&self.key);
    }
}

impl std::fmt::Debug for ClockState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sleepers: Vec<_> = self.sleepers.keys().map(|(end, _)| end).collect();
        f.debug_struct("State").field("now", &self.now).field("sleepers", &sleepers).finish_non_exhaustive()
    }
}
