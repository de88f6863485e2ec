use std::{
    collections::{BTreeMap, HashMap},
    future::Future,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use async_trait::async_trait;
use claimstream_domain::QueueName;
use claimstream_ports::{StoreError, Wakeup};

/// A [`Wakeup`] within one process: the writer fires a [`Hint`](crate::enqueue::Hint) after the commit, and the idle relays of the same
/// process look at once.
///
/// It serves any number of queues and waiters. A wakeup that finds no waiter is kept for the next one.
#[derive(Debug, Default)]
pub struct LocalWakeup {
    signals: Mutex<HashMap<QueueName, Signal>>,
}

impl LocalWakeup {
    /// A wakeup without waiters.
    pub fn new() -> Self {
        Self::default()
    }

    fn signals(&self) -> MutexGuard<'_, HashMap<QueueName, Signal>> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Wakeup for LocalWakeup {
    async fn wait(&self, queue: &QueueName) {
        Waiter { wakeup: self, queue, waiter: None }.await;
    }

    async fn wake(&self, queue: &QueueName) -> Result<(), StoreError> {
        let waiters = self.signals().entry(queue.clone()).or_default().set();
        waiters.into_values().for_each(Waker::wake);
        Ok(())
    }
}

/// What wakes the waiters of one queue.
#[derive(Debug, Default)]
struct Signal {
    /// Rung, and no wait has ended since.
    is_set: bool,
    /// How often it has been set.
    count: u64,
    next_waiter: u64,
    waiters: BTreeMap<u64, Waker>,
}

impl Signal {
    fn set(&mut self) -> BTreeMap<u64, Waker> {
        self.is_set = true;
        self.count += 1;
        std::mem::take(&mut self.waiters)
    }
}

/// A waiter among the waiters of one queue, given up when it is dropped.
struct Waiter<'a> {
    wakeup: &'a LocalWakeup,
    queue: &'a QueueName,
    waiter: Option<WaiterId>,
}

#[derive(Clone, Copy)]
struct WaiterId {
    number: u64,
    /// How often the signal had been set when the wait began.
    count: u64,
}

impl Future for Waiter<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut signals = self.wakeup.signals();
        let signal = signals.entry(self.queue.clone()).or_default();
        let is_woken = match self.waiter {
            None => signal.is_set,
            Some(waiter) => signal.count != waiter.count,
        };
        if is_woken {
            signal.is_set = false;
            return Poll::Ready(());
        }
        let waiter = self.waiter.unwrap_or_else(|| {
            signal.next_waiter += 1;
            WaiterId { number: signal.next_waiter, count: signal.count }
        });
        signal.waiters.insert(waiter.number, cx.waker().clone());
        drop(signals);
        self.waiter = Some(waiter);
        Poll::Pending
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter else { return };
        if let Some(signal) = self.wakeup.signals().get_mut(self.queue) {
            signal.waiters.remove(&waiter.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, executor::block_on, future::join};

    use super::*;

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    #[test]
    fn wakes_everybody_who_waits_on_the_queue_and_nobody_else() {
        let (wakeup, orders, mails) = (LocalWakeup::new(), queue("orders"), queue("mails"));
        let (mut one, mut two) = (wakeup.wait(&orders), wakeup.wait(&orders));
        let mut other = wakeup.wait(&mails);
        assert!((&mut one).now_or_never().is_none() && (&mut two).now_or_never().is_none());
        assert!((&mut other).now_or_never().is_none());
        block_on(wakeup.wake(&orders)).unwrap();
        block_on(join(one, two));
        assert!(other.now_or_never().is_none());
    }

    #[test]
    fn keeps_a_wakeup_that_nobody_heard_for_the_next_wait_and_only_for_that() {
        let (wakeup, orders) = (LocalWakeup::new(), queue("orders"));
        assert!(wakeup.wait(&orders).now_or_never().is_none(), "no wakeup came");
        block_on(wakeup.wake(&orders)).unwrap();
        block_on(wakeup.wake(&orders)).unwrap();
        assert!(wakeup.wait(&orders).now_or_never().is_some());
        assert!(wakeup.wait(&orders).now_or_never().is_none());
    }

    #[test]
    fn a_wait_that_began_before_a_wakeup_hears_it_though_another_wait_has_ended_with_it() {
        let (wakeup, orders) = (LocalWakeup::new(), queue("orders"));
        let mut ear = wakeup.wait(&orders);
        assert!((&mut ear).now_or_never().is_none());
        block_on(wakeup.wake(&orders)).unwrap();
        assert!(wakeup.wait(&orders).now_or_never().is_some());
        assert!(ear.now_or_never().is_some());
    }

    #[test]
    fn a_wait_that_was_given_up_leaves_nothing_behind() {
        let (wakeup, orders) = (LocalWakeup::new(), queue("orders"));
        let mut wait = wakeup.wait(&orders);
        assert!((&mut wait).now_or_never().is_none());
        drop(wait);
        assert!(wakeup.signals()[&orders].waiters.is_empty());
    }
}
