use std::{
    collections::BTreeMap,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
    time::Duration,
};

use claimstream::Timer;
use claimstream_ports::Sleep;

/// A clock that stands still until a test moves it. Clones show the same time.
#[derive(Clone, Default)]
pub struct VirtualTimer(Arc<Mutex<Clock>>, Beside);

/// What was handed over to be run beside, until a test takes it.
type Beside = Arc<Mutex<Vec<Pin<Box<dyn Future<Output = ()> + Send>>>>>;

#[derive(Default)]
struct Clock {
    now: Duration,
    sleeps: u64,
    sleepers: BTreeMap<(Duration, u64), Waker>,
}

impl VirtualTimer {
    /// Moves the time on and wakes the sleepers whose time has come.
    pub fn advance(&self, by: Duration) {
        let due = {
            let mut clock = self.0.lock().unwrap();
            clock.now += by;
            let first_later = (clock.now + Duration::from_nanos(1), 0);
            let later = clock.sleepers.split_off(&first_later);
            std::mem::replace(&mut clock.sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }

    /// Moves the time on to the next moment that somebody sleeps until; `false` if nobody sleeps.
    pub fn advance_to_next(&self) -> bool {
        let next = {
            let clock = self.0.lock().unwrap();
            clock.sleepers.keys().next().map(|(until, _)| *until - clock.now)
        };
        next.map(|by| self.advance(by)).is_some()
    }

    /// Takes what was handed over to be run beside.
    pub fn take_beside(&self) -> Vec<Pin<Box<dyn Future<Output = ()> + Send>>> {
        std::mem::take(&mut self.1.lock().unwrap())
    }

    /// How many sleeps are going on.
    pub fn sleepers(&self) -> usize {
        self.0.lock().unwrap().sleepers.len()
    }
}

impl Timer for VirtualTimer {
    fn now(&self) -> Duration {
        self.0.lock().unwrap().now
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Box::pin(async move {
            let key = {
                let mut clock = self.0.lock().unwrap();
                clock.sleeps += 1;
                (clock.now + duration, clock.sleeps)
            };
            let sleep = Place { timer: self, key };
            poll_fn(|cx| {
                let mut clock = sleep.timer.0.lock().unwrap();
                if clock.now >= key.0 {
                    return Poll::Ready(());
                }
                clock.sleepers.insert(key, cx.waker().clone());
                Poll::Pending
            })
            .await;
        })
    }

    fn run_beside(&self, work: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.1.lock().unwrap().push(work);
    }
}

/// Gives its place among the sleepers up when it is dropped.
struct Place<'a> {
    timer: &'a VirtualTimer,
    key: (Duration, u64),
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.timer.0.lock().unwrap().sleepers.remove(&self.key);
    }
}
