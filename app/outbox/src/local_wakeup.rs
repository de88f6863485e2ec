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

/// A [`Wakeup`] within one process: the writer fires a [`Hint`](crate::Hint) after the commit, and the idle relays of the same
/// process look at once.
///
/// It serves any number of queues and waiters. A wakeup that finds no waiter is kept for the next one.
#[derive(Debug, Default)]
pub struct LocalWakeup {
    bells: Mutex<HashMap<QueueName, Bell>>,
}

impl LocalWakeup {
    /// A wakeup that nobody waits for yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn bells(&self) -> MutexGuard<'_, HashMap<QueueName, Bell>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Wakeup for LocalWakeup {
    async fn wait(&self, queue: &QueueName) {
        Waiting { wakeup: self, queue, place: None }.await;
    }

    async fn wake(&self, queue: &QueueName) -> Result<(), StoreError> {
        let waiters = self.bells().entry(queue.clone()).or_default().ring();
        waiters.into_values().for_each(Waker::wake);
        Ok(())
    }
}

/// What wakes the waiters of one queue.
#[derive(Debug, Default)]
struct Bell {
    /// Rung, and no wait has ended since.
    rung: bool,
    /// How often it has been rung.
    rings: u64,
    next_place: u64,
    waiters: BTreeMap<u64, Waker>,
}

impl Bell {
    fn ring(&mut self) -> BTreeMap<u64, Waker> {
        self.rung = true;
        self.rings += 1;
        std::mem::take(&mut self.waiters)
    }
}

/// A place among the waiters of one queue, given up when it is dropped.
struct Waiting<'a> {
    wakeup: &'a LocalWakeup,
    queue: &'a QueueName,
    place: Option<Place>,
}

#[derive(Clone, Copy)]
struct Place {
    number: u64,
    /// How often the bell had been rung when the wait began.
    rings: u64,
}

impl Future for Waiting<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut bells = self.wakeup.bells();
        let bell = bells.entry(self.queue.clone()).or_default();
        let heard = match self.place {
            None => bell.rung,
            Some(place) => bell.rings != place.rings,
        };
        if heard {
            bell.rung = false;
            return Poll::Ready(());
        }
        let place = self.place.unwrap_or_else(|| {
            bell.next_place += 1;
            Place { number: bell.next_place, rings: bell.rings }
        });
        bell.waiters.insert(place.number, cx.waker().clone());
        drop(bells);
        self.place = Some(place);
        Poll::Pending
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        if let Some(bell) = self.wakeup.bells().get_mut(self.queue) {
            bell.waiters.remove(&place.number);
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
        assert!(wakeup.wait(&orders).now_or_never().is_none(), "nobody rang");
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
        assert!(wakeup.bells()[&orders].waiters.is_empty());
    }
}
