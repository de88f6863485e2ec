use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use claimstream_domain::QueueName;
use claimstream_ports::{StoreError, Timer, Wakeup};
use claimstream_tokio::TokioTimer;
use tokio::task::JoinHandle;

use crate::{listeners::Listeners, place::BinlogPlace, tail::Tail};

/// A [`Wakeup`] for relays, by whatever commit puts a message into their queues, of this process or another, in any language.
///
/// One serves all queues of a process. It stands on another wakeup, on which its waits wait and which it wakes; a `LocalWakeup` is one
/// that serves. The first wait begins to read the log, in a task that ends with the `BinlogWakeup`. While the log cannot be read
/// it wakes no relay and relays look by themselves, as ever; when it is read again, every waiter is woken once, because
/// something may have been missed. Where an operator has to change something, a right or a setting, one warning names it.
pub struct BinlogWakeup {
    place: BinlogPlace,
    listeners: Arc<Listeners>,
    waits: Arc<dyn Wakeup>,
    timer: Arc<dyn Timer>,
    tail: Mutex<Option<JoinHandle<()>>>,
}

impl BinlogWakeup {
    /// Wakes `waits` by the log at this place, which is not looked at before the first wait.
    pub fn new(place: BinlogPlace, waits: Arc<dyn Wakeup>) -> Self {
        let listeners = Arc::new(Listeners::new(Arc::clone(&waits)));
        Self { place, listeners, waits, timer: Arc::new(TokioTimer::new()), tail: Mutex::default() }
    }

    /// Waits for the server by this timer in place of tokio's clock.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.timer = timer;
        self
    }

    /// Starts the reader of the log unless it runs.
    fn read(&self) {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.as_ref().is_none_or(JoinHandle::is_finished) {
            let reading = Tail::new(self.place.clone(), Arc::clone(&self.listeners), Arc::clone(&self.timer));
            *tail = Some(tokio::spawn(reading.run()));
        }
    }
}

#[async_trait]
impl Wakeup for BinlogWakeup {
    async fn wait(&self, queue: &QueueName) {
        self.read();
        self.listeners.wait(queue).await;
    }

    /// Wakes the waits of this process; those of others learn of the commit from the log.
    async fn wake(&self, queue: &QueueName) -> Result<(), StoreError> {
        self.waits.wake(queue).await
    }
}

impl Drop for BinlogWakeup {
    fn drop(&mut self) {
        let tail = self.tail.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(tail) = tail.take() {
            tail.abort();
        }
    }
}

impl fmt::Debug for BinlogWakeup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinlogWakeup").field("place", &self.place).finish_non_exhaustive()
    }
}
