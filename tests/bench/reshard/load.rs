use std::{
    collections::HashMap,
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use claimstream::{Claim, Relay, RelayConfig, RelayError};
use claimstream_domain::{MessageId, NewMessage, OrderingKey, Payload, QueueName, ShardCount};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use futures::StreamExt;
use tokio::{sync::watch, task::JoinHandle, time::MissedTickBehavior};

use crate::{FULL, Failure, QUEUE};

/// How many keys are written.
const KEYS: usize = 500;
/// Every so often a message is written, each in a transaction of its own.
const EVERY: Duration = Duration::from_millis(5);
/// How many handlers run at once.
const AT_ONCE: usize = 32;

/// A program that writes, and one that claims.
pub(crate) struct Load {
    noted: Arc<Mutex<Noted>>,
    stop: watch::Sender<bool>,
    tasks: [JoinHandle<Result<(), Failure>>; 2],
}

#[derive(Default)]
struct Noted {
    felt: Felt,
    /// When each message was about to be written that is not handled, and whether its key is one of the full shard.
    open: HashMap<MessageId, (Instant, bool)>,
}

/// What programs have felt.
#[derive(Default)]
pub(crate) struct Felt {
    enqueued: Vec<Duration>,
    handled_of_full: Vec<Duration>,
    handled_of_others: Vec<Duration>,
}

impl Load {
    /// The writer knows the number of shards that there was when it was opened.
    pub(crate) fn start(writer: SeaOrmOutbox, relay: SeaOrmOutbox) -> Result<Self, Failure> {
        let noted = Arc::<Mutex<Noted>>::default();
        let (stop, stopped) = watch::channel(false);
        let write = write(writer, Arc::clone(&noted), stopped.clone());
        let claim = claim(relay, Arc::clone(&noted), stopped);
        Ok(Self { noted, stop, tasks: [tokio::spawn(write), tokio::spawn(claim)] })
    }

    /// What was felt since the last call.
    pub(crate) fn take(&self) -> Result<Felt, Failure> {
        if self.tasks.iter().any(JoinHandle::is_finished) {
            return Err("a program has ended by itself".into());
        }
        Ok(mem::take(&mut lock(&self.noted).felt))
    }

    pub(crate) async fn stop(self) -> Result<(), Failure> {
        let _ = self.stop.send(true);
        for task in self.tasks {
            task.await??;
        }
        match lock(&self.noted).open.len() {
            0..100 => Ok(()),
            left => Err(format!("{left} messages were not handled").into()),
        }
    }
}

async fn write(
    outbox: SeaOrmOutbox,
    noted: Arc<Mutex<Noted>>,
    stopped: watch::Receiver<bool>,
) -> Result<(), Failure> {
    let shards = ShardCount::new(16)?;
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for n in 0.. {
        ticks.tick().await;
        if *stopped.borrow() {
            break;
        }
        let key = format!("customer-{}", n % KEYS);
        let is_of_full = shards.shard_of_bytes(key.as_bytes()).number() == FULL;
        let id = MessageId::new(uuid::Uuid::now_v7());
        let message = NewMessage::new(id, QueueName::new(QUEUE)?, Payload::json("{\"number\":1}"));
        let message = message.ordered_by(key.parse::<OrderingKey>()?);
        let began = Instant::now();
        lock(&noted).open.insert(id, (began, is_of_full));
        outbox.enqueue_now(&[message]).await?;
        lock(&noted).felt.enqueued.push(began.elapsed());
    }
    Ok(())
}

async fn claim(
    outbox: SeaOrmOutbox,
    noted: Arc<Mutex<Noted>>,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), Failure> {
    let relay = Relay::new(Arc::new(outbox), TokioTimer::new(), RelayConfig::default());
    let mut claims = relay.claims(QUEUE)?;
    let until = async move {
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    let handling = claims.by_ref().take_until(until);
    handling.for_each_concurrent(AT_ONCE, |claim| handle(&noted, claim)).await;
    claims.close().await?;
    Ok(())
}

async fn handle(noted: &Mutex<Noted>, claim: Result<Claim, RelayError>) {
    // The stream goes on after an error, and what is not acknowledged comes again.
    let Ok(claim) = claim else { return };
    let handled = lock(noted).open.remove(&claim.message().id);
    if let Some((began, is_of_full)) = handled {
        let felt = &mut lock(noted).felt;
        let of = if is_of_full { &mut felt.handled_of_full } else { &mut felt.handled_of_others };
        of.push(began.elapsed());
    }
    let _ = claim.ack().await;
}

fn lock(noted: &Mutex<Noted>) -> MutexGuard<'_, Noted> {
    noted.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl fmt::Display for Felt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (full, others) = (shares(&self.handled_of_full), shares(&self.handled_of_others));
        write!(
            f,
            "enqueue {}; from enqueue to handler, keys of the full shard {full}; others {others}",
            shares(&self.enqueued)
        )
    }
}

fn shares(times: &[Duration]) -> String {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).or(times.last());
    let millis = |share| at(share).map_or(0.0, |time| time.as_secs_f64() * 1_000.0);
    format!("p50 {:.1}, p99 {:.1}, longest {:.1} ms of {}", millis(50), millis(99), millis(100), times.len())
}
