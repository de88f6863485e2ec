use std::{
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream::{Batch, Batches, Claim, Claims, Relay, RelayConfig, RelayError, Settled};
use claimstream_domain::{MessageId, NewMessage, OrderingKey, Payload, QueueName, Retention};
use claimstream_sea_orm::{Capability, OpenOptions, Order, SeaOrmOutbox};
use claimstream_testbed::ServerProcess;
use claimstream_tokio::TokioTimer;
use futures::{
    StreamExt,
    future::{Either, select, try_join_all},
};
use sea_orm::{ConnectionTrait, Statement};
use uuid::Uuid;

use crate::{
    Failure,
    contender::Own,
    job::{self, Job, Work, number_in, sent_in, unix_now},
    parent,
};

/// The queue that is measured.
pub(crate) const QUEUE: &str = "bench";
/// A queue in the same tables that stays empty.
const ASIDE: &str = "aside";

/// An instance that has had nothing for this long looks whether the queue is empty, and is done if it is.
const QUIET: f64 = 0.5;
/// Longer than a lease: what is still there after this long without anything happening will not come any more.
const TIMEOUT: f64 = 45.0;
/// How many ordering keys there are, unless a scenario says otherwise.
pub(crate) const KEYS: u64 = 1000;

/// Opens the outbox as the contender's name says.
pub(crate) async fn open(url: &str, own: Own, connections: u32) -> Result<SeaOrmOutbox, Failure> {
    open_with(url, own, connections, Retention::default()).await
}

async fn open_with(
    url: &str,
    own: Own,
    max_connections: u32,
    retention: Retention,
) -> Result<SeaOrmOutbox, Failure> {
    let (strategy, order) = match own {
        Own::ShardLeasePerKey => (Own::ShardLease, Order::PerKey),
        Own::ShardLeaseBatches => (Own::ShardLease, Order::None),
        other => (other, Order::None),
    };
    let strategy = strategy.name().parse()?;
    let relay_connections = max_connections;
    let options = OpenOptions {
        strategy,
        order,
        // All contenders empty the same tables.
        capabilities: Capability::ALL.iter().copied().collect(),
        retention,
        max_connections,
        relay_connections,
        ..OpenOptions::default()
    };
    Ok(SeaOrmOutbox::open(url, options).await?)
}

/// A message with a number, in one of the job's queues and under one of its keys, if it has several.
pub(crate) fn message(number: u64, sent: u64, job: &Job) -> Result<NewMessage, Failure> {
    let payload = Payload::new("application/octet-stream", job::payload(number, sent, job.payload))?;
    let queue = queue(number % job.queues.max(1));
    let message = NewMessage::new(MessageId::new(Uuid::now_v7()), QueueName::new(&queue)?, payload);
    match number.checked_rem(job.keys) {
        Some(key) => Ok(message.ordered_by(OrderingKey::new(&format!("key {key}"))?)),
        None => Ok(message),
    }
}

/// The name of a queue by its number; a queue alone has the number 0.
fn queue(number: u64) -> String {
    if number == 0 { QUEUE.to_owned() } else { format!("{QUEUE}-{number}") }
}

/// How a relay is set up: as a service would be, but for the batch, and with eight of them in hand: while one page of four
/// is settled, the next one is read.
pub(crate) fn relay_config(job: &Job) -> RelayConfig {
    let batch = job.batch as u32;
    RelayConfig { batch, prefetch: 8 * batch, settle_batch: batch, ..RelayConfig::default() }
}

/// An instance that uses the library as a service would: a stream, concurrent handlers, acknowledgements.
pub(crate) async fn work(job: &Job, own: Own) -> Result<Work, Failure> {
    let retention = if job.swept { Retention::DELETE } else { Retention::default() };
    let outbox = Arc::new(open_with(&job.url, own, 8, retention).await?);
    let config = relay_config(job);
    let relay = Relay::new(outbox.clone(), TokioTimer::new(), config);
    let queues =
        (0..job.queues.max(1)).map(|number| if job.aside { ASIDE.to_owned() } else { queue(number) });
    let claims = queues.map(|queue| relay.claims(queue.as_str())).collect::<Result<Vec<_>, _>>()?;
    parent::wait_for_go()?;
    let tally = Tally::begin();
    let handling = claims.into_iter().map(|claims| async {
        match own.is_in_batches() {
            true => handle_batches(job, &outbox, claims.batches(), &tally).await,
            false => handle_one_by_one(job, &outbox, claims, &tally).await,
        }
    });
    let handling = try_join_all(handling);
    if job.swept {
        let Either::Left((handled, _)) = select(pin!(handling), pin!(outbox.sweep_regularly())).await;
        handled?;
    } else {
        handling.await?;
    }
    Ok(tally.end())
}

/// Handles messages, as many at a time as may be in hand, until there is no more to do; what has begun is finished.
async fn handle_one_by_one(
    job: &Job,
    outbox: &SeaOrmOutbox,
    mut claims: Claims,
    tally: &Tally,
) -> Result<(), RelayError> {
    let in_hand = relay_config(job).prefetch as usize;
    let handled = (&mut claims).take_until(Box::pin(stopped_or_done(job, outbox, tally)));
    handled.for_each_concurrent(in_hand, |claim| tally.handle(claim)).await;
    claims.close().await.map(drop)
}

/// The same by the batch.
async fn handle_batches(
    job: &Job,
    outbox: &SeaOrmOutbox,
    mut batches: Batches,
    tally: &Tally,
) -> Result<(), RelayError> {
    let RelayConfig { prefetch, batch, .. } = relay_config(job);
    let handled = (&mut batches).take_until(Box::pin(stopped_or_done(job, outbox, tally)));
    handled.for_each_concurrent((prefetch / batch) as usize, |batch| tally.handle_batch(batch)).await;
    batches.close().await.map(drop)
}

/// Ends when the instance has no more to do, or its time is over.
async fn stopped_or_done(job: &Job, outbox: &SeaOrmOutbox, tally: &Tally) {
    let over = pin!(tokio::time::sleep(Duration::from_secs(job.seconds)));
    let done = pin!(async {
        match job.stay {
            true => parent::stop().await,
            false => drained(outbox, tally).await,
        }
    });
    select(over, done).await;
}

/// Ends when nothing is left, or when nothing comes any more.
async fn drained(outbox: &SeaOrmOutbox, tally: &Tally) {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let quiet = unix_now() - tally.last();
        if quiet > TIMEOUT || (quiet > QUIET && is_empty(outbox).await) {
            break;
        }
    }
}

/// Whether no message is left; counting all of them, as an observer does, would hold up those who still have some.
async fn is_empty(outbox: &SeaOrmOutbox) -> bool {
    let db = outbox.connection();
    let any = Statement::from_string(db.get_database_backend(), "SELECT 1 FROM claimstream_queue LIMIT 1");
    db.query_one_raw(any).await.is_ok_and(|row| row.is_none())
}

/// Writes down what was handed out and what became of it.
pub(crate) struct Tally {
    work: Mutex<Work>,
    went: f64,
    cpu: f64,
}

impl Tally {
    /// Now is when the work begins.
    pub(crate) fn begin() -> Self {
        let went = unix_now();
        Self {
            work: Mutex::new(Work { last: went, ..Work::default() }),
            went,
            cpu: ServerProcess::own().cpu_seconds(),
        }
    }

    /// Handles a message, in no time, and acknowledges it.
    pub(crate) async fn handle(&self, claim: Result<Claim, RelayError>) {
        let claim = match claim {
            Ok(claim) => claim,
            Err(error) => return self.fail(error),
        };
        let number = self.handed_out(claim.message().payload.bytes());
        match claim.ack().await {
            Ok(Settled::Accepted) => self.work().accept(number, self.went),
            Ok(Settled::Superseded) => self.work().superseded += 1,
            Ok(Settled::Unknown) => self.work().errors.push("a claim was answered with Unknown".into()),
            Err(error) => self.fail(error),
        }
    }

    /// Handles the messages of a batch, in no time, and acknowledges them together.
    async fn handle_batch(&self, batch: Result<Batch, RelayError>) {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => return self.fail(error),
        };
        let numbers: Vec<_> =
            batch.iter().map(|claimed| self.handed_out(claimed.message.payload.bytes())).collect();
        match batch.ack_all().await {
            Ok(outcome) if outcome.superseded.is_empty() => self.work().accept_all(numbers, self.went),
            Ok(outcome) => self.work().superseded += outcome.superseded.len() as u64,
            Err(error) => self.fail(error),
        }
    }

    /// Counts a message that was handed out, and says its number.
    pub(crate) fn handed_out(&self, payload: &[u8]) -> u64 {
        let (number, sent) = (number_in(payload), sent_in(payload));
        let mut work = self.work();
        work.handed_out.push(number);
        work.handed(sent);
        number
    }

    pub(crate) fn end(self) -> Work {
        let mut work = self.work.into_inner().expect("no panic");
        work.cpu_seconds = ServerProcess::own().cpu_seconds() - self.cpu;
        work
    }

    fn last(&self) -> f64 {
        self.work().last
    }

    fn fail(&self, error: impl std::error::Error) {
        let mut work = self.work();
        if work.errors.len() < 20 {
            work.errors.push(error.to_string());
        }
    }

    fn work(&self) -> std::sync::MutexGuard<'_, Work> {
        self.work.lock().expect("no panic")
    }
}
