use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use claimstream_domain::QueueName;
use tokio::sync::watch;

/// A signal for each queue that has had a waiter. One that wakes no waiter is kept for the next.
#[derive(Default)]
pub(crate) struct Signals(Mutex<HashMap<QueueName, Arc<Signal>>>);

/// Wakes the waiters of one queue.
#[derive(Default)]
pub(crate) struct Signal {
    /// How often it was sent.
    sent: watch::Sender<u64>,
    /// How often it had been sent when a wait last ended.
    seen: AtomicU64,
}

impl Signals {
    pub(crate) fn of(&self, queue: &QueueName) -> Arc<Signal> {
        self.signals().entry(queue.clone()).or_default().clone()
    }

    pub(crate) fn send(&self, queue: &str) {
        let signals = self.signals();
        let signal = signals.iter().find(|(known, _)| known.as_str() == queue);
        if let Some((_, signal)) = signal {
            signal.send();
        }
    }

    pub(crate) fn send_all(&self) {
        self.signals().values().for_each(|signal| signal.send());
    }

    fn signals(&self) -> MutexGuard<'_, HashMap<QueueName, Arc<Signal>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Signal {
    /// Waits until it is sent, or returns at once if it was sent since the last wait ended.
    pub(crate) async fn wait(&self) {
        let mut sent = self.sent.subscribe();
        let now = *sent.borrow_and_update();
        if self.seen.swap(now, Ordering::Relaxed) != now {
            return;
        }
        if sent.changed().await.is_ok() {
            self.seen.store(*sent.borrow(), Ordering::Relaxed);
        }
    }

    fn send(&self) {
        self.sent.send_modify(|sent| *sent += 1);
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
    fn wakes_all_waiters_of_the_queue_and_no_other() {
        let (signals, orders, mails) = (Signals::default(), queue("orders"), queue("mails"));
        let (orders, mails) = (signals.of(&orders), signals.of(&mails));
        let (mut one, mut two) = (Box::pin(orders.wait()), Box::pin(orders.wait()));
        let mut other = Box::pin(mails.wait());
        assert!((&mut one).now_or_never().is_none() && (&mut two).now_or_never().is_none());
        assert!((&mut other).now_or_never().is_none());
        signals.send("orders");
        block_on(join(one, two));
        assert!((&mut other).now_or_never().is_none());
        signals.send_all();
        block_on(other);
    }

    #[test]
    fn a_wait_that_began_before_a_signal_ends_with_it_though_another_wait_has_ended_with_it() {
        let signals = Signals::default();
        let orders = signals.of(&queue("orders"));
        let mut early = Box::pin(orders.wait());
        assert!((&mut early).now_or_never().is_none());
        signals.send("orders");
        assert!(orders.wait().now_or_never().is_some());
        assert!(early.now_or_never().is_some());
    }

    #[test]
    fn keeps_a_signal_without_a_waiter_for_the_next_wait_and_only_for_that() {
        let signals = Signals::default();
        let orders = signals.of(&queue("orders"));
        assert!(orders.wait().now_or_never().is_none(), "no signal was sent");
        signals.send("orders");
        signals.send("orders");
        assert!(orders.wait().now_or_never().is_some());
        assert!(orders.wait().now_or_never().is_none());
    }
}
