use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use claimstream_domain::QueueName;
use tokio::sync::watch;

/// A bell for each queue that has had a waiter. A ring that nobody hears is kept for the next waiter.
#[derive(Default)]
pub(crate) struct Bells(Mutex<HashMap<QueueName, Arc<Bell>>>);

/// Wakes the waiters of one queue.
#[derive(Default)]
pub(crate) struct Bell {
    /// How often it has been rung.
    rings: watch::Sender<u64>,
    /// How many rings had been made when a wait last ended.
    heard: AtomicU64,
}

impl Bells {
    pub(crate) fn of(&self, queue: &QueueName) -> Arc<Bell> {
        self.bells().entry(queue.clone()).or_default().clone()
    }

    pub(crate) fn ring(&self, queue: &str) {
        let bells = self.bells();
        let bell = bells.iter().find(|(known, _)| known.as_str() == queue);
        if let Some((_, bell)) = bell {
            bell.ring();
        }
    }

    pub(crate) fn ring_all(&self) {
        self.bells().values().for_each(|bell| bell.ring());
    }

    fn bells(&self) -> MutexGuard<'_, HashMap<QueueName, Arc<Bell>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bell {
    /// Waits for a ring since the last wait ended.
    pub(crate) async fn wait(&self) {
        let mut rings = self.rings.subscribe();
        let rung = *rings.borrow_and_update();
        if self.heard.swap(rung, Ordering::Relaxed) != rung {
            return;
        }
        if rings.changed().await.is_ok() {
            self.heard.store(*rings.borrow(), Ordering::Relaxed);
        }
    }

    fn ring(&self) {
        self.rings.send_modify(|rings| *rings += 1);
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
        let (bells, orders, mails) = (Bells::default(), queue("orders"), queue("mails"));
        let (orders, mails) = (bells.of(&orders), bells.of(&mails));
        let (mut one, mut two) = (Box::pin(orders.wait()), Box::pin(orders.wait()));
        let mut other = Box::pin(mails.wait());
        assert!((&mut one).now_or_never().is_none() && (&mut two).now_or_never().is_none());
        assert!((&mut other).now_or_never().is_none());
        bells.ring("orders");
        block_on(join(one, two));
        assert!((&mut other).now_or_never().is_none());
        bells.ring_all();
        block_on(other);
    }

    #[test]
    fn a_wait_that_began_before_a_ring_hears_it_though_another_wait_has_ended_with_it() {
        let bells = Bells::default();
        let orders = bells.of(&queue("orders"));
        let mut ear = Box::pin(orders.wait());
        assert!((&mut ear).now_or_never().is_none());
        bells.ring("orders");
        assert!(orders.wait().now_or_never().is_some());
        assert!(ear.now_or_never().is_some());
    }

    #[test]
    fn keeps_rings_that_nobody_heard_for_the_next_wait_and_only_for_that() {
        let bells = Bells::default();
        let orders = bells.of(&queue("orders"));
        assert!(orders.wait().now_or_never().is_none(), "nobody rang");
        bells.ring("orders");
        bells.ring("orders");
        assert!(orders.wait().now_or_never().is_some());
        assert!(orders.wait().now_or_never().is_none());
    }
}
