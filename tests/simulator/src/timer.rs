use std::{
    collections::BTreeMap,
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError},
    task::{Poll, Waker},
    time::Duration,
};

use claimstream_ports::{Sleep, Timer};

use crate::sim::{Process, Sim};

/// A clock that stands still until it is moved. A clone is the same clock.
#[derive(Clone, Default)]
pub struct HandTimer(Arc<Mutex<Clock>>);

#[derive(Default)]
struct Clock {
    now: Duration,
    sleeps: u64,
    sleepers: BTreeMap<(Duration, u64), Waker>,
}

impl HandTimer {
    /// Moves the time on and wakes the sleepers whose time has come.
    pub fn advance(&self, by: Duration) {
        let due = {
            let mut clock = self.clock();
            clock.now += by;
            let first_later = (clock.now + Duration::from_nanos(1), 0);
            let later = clock.sleepers.split_off(&first_later);
            std::mem::replace(&mut clock.sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }

    /// The next moment that a sleeper waits for.
    pub fn next_wakeup(&self) -> Option<Duration> {
        self.clock().sleepers.keys().next().map(|(until, _)| *until)
    }

    fn clock(&self) -> std::sync::MutexGuard<'_, Clock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Timer for HandTimer {
    fn now(&self) -> Duration {
        self.clock().now
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        let key = {
            let mut clock = self.clock();
            clock.sleeps += 1;
            (clock.now.saturating_add(duration), clock.sleeps)
        };
        let sleeper = Sleeper { timer: self, key };
        Box::pin(poll_fn(move |cx| {
            let mut clock = sleeper.timer.clock();
            if clock.now >= sleeper.key.0 {
                return Poll::Ready(());
            }
            clock.sleepers.insert(sleeper.key, cx.waker().clone());
            Poll::Pending
        }))
    }
}

/// Leaves the clock when it is dropped.
struct Sleeper<'a> {
    timer: &'a HandTimer,
    key: (Duration, u64),
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.timer.clock().sleepers.remove(&self.key);
    }
}

/// The timer of one process: its work ends when the process is killed.
#[derive(Clone)]
pub(crate) struct ProcessTimer {
    pub(crate) sim: Sim,
    pub(crate) process: Process,
    /// The shortest sleep. Waits before a restarted transaction are random and shorter than this.
    pub(crate) least: Duration,
}

impl ProcessTimer {
    pub(crate) fn of(sim: &Sim, process: Process) -> Self {
        Self { sim: sim.clone(), process, least: Duration::ZERO }
    }

    /// The timer of steps, whose restarts wait for a time that no seed decides.
    pub(crate) fn coarse(sim: &Sim, process: Process) -> Self {
        Self { least: Duration::from_millis(250), ..Self::of(sim, process) }
    }
}

impl Timer for ProcessTimer {
    fn now(&self) -> Duration {
        self.sim.timer().now()
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        self.sim.timer().sleep(duration.max(self.least))
    }

    fn spawn(&self, work: Sleep<'static>) {
        self.sim.spawn(self.process, work);
    }
}
