use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use claimstream_sea_orm::SeaOrmOutbox;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::{Failure, Setting, history::Sent, task::Task};

/// A producer that enqueues at a steady rate, key after key; its transactions do not overlap.
pub(crate) struct Load {
    sent: Arc<Mutex<Vec<Sent>>>,
    stop: Arc<AtomicBool>,
    running: JoinHandle<Result<(), Failure>>,
}

impl Load {
    const TICK: Duration = Duration::from_millis(25);

    /// Begins; the messages with these numbers crash the process that handles them.
    pub(crate) fn start(outbox: SeaOrmOutbox, setting: &Setting, poison: Vec<usize>) -> Self {
        let (sent, stop) = (Arc::<Mutex<Vec<Sent>>>::default(), Arc::<AtomicBool>::default());
        let (rate, keys) = (setting.rate, setting.keys);
        let running = tokio::spawn(produce(outbox, rate, keys, poison, sent.clone(), stop.clone()));
        Self { sent, stop, running }
    }

    /// Ends it, and says what it has enqueued.
    pub(crate) async fn finish(self) -> Result<Vec<Sent>, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        self.running.await??;
        Ok(std::mem::take(&mut *self.sent.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

async fn produce(
    outbox: SeaOrmOutbox,
    rate: u32,
    keys: u32,
    poison: Vec<usize>,
    sent: Arc<Mutex<Vec<Sent>>>,
    stop: Arc<AtomicBool>,
) -> Result<(), Failure> {
    let began = Instant::now();
    let mut newest: Vec<Option<Uuid>> = vec![None; keys as usize];
    let mut count = 0_usize;
    while !stop.load(Ordering::Relaxed) {
        let owed = (began.elapsed().as_secs_f64() * f64::from(rate)) as usize;
        // At most one message of each key in a transaction.
        let some: Vec<Sent> = (count..owed.min(count + keys as usize))
            .map(|n| {
                let (key, seq) = (n as u32 % keys, n as u32 / keys);
                Sent { id: Uuid::now_v7(), key, seq, is_poison: poison.contains(&n) }
            })
            .collect();
        let messages = some.iter().map(|Sent { id, key, seq, is_poison }| {
            let before = newest[*key as usize].replace(*id);
            Task { key: *key, seq: *seq, before, is_poison: *is_poison }.message(*id)
        });
        let messages = messages.collect::<Result<Vec<_>, _>>()?;
        if !messages.is_empty() {
            outbox.enqueue_now(&messages).await?;
            count += messages.len();
            sent.lock().unwrap_or_else(PoisonError::into_inner).extend(some);
        }
        tokio::time::sleep(Load::TICK).await;
    }
    Ok(())
}
