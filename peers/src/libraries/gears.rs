use std::{ops::Range, sync::Arc, time::Duration};

use async_trait::async_trait;
use toolkit_db::{
    ConnectOpts, Db, connect_db,
    migration_runner::run_migrations_for_testing,
    outbox::{
        Batch, HandlerResult, LeasedHandler, Outbox, OutboxHandle, OutboxProfile, Partitions, Records,
        WorkerTuning, outbox_migrations,
    },
};

use crate::{
    Failure,
    job::Job,
    ledger::LEDGER,
    library::{Library, Sender, Worker},
    payload,
    server::Server,
};

const QUEUE: &str = "peer";
const PARTITIONS: u16 = 16;
const POOL: u32 = 20;
/// Processors, sequencers, vacuum and reconciler of the profile as shipped.
const IN_USE: u32 = 9;
/// The library asks its callers to send a transaction again when the server has chosen it as a victim.
const ATTEMPTS: usize = 10;

/// How often partitions are looked for that nobody works on, other than as shipped.
const OFTEN: Duration = Duration::from_millis(50);

/// cf-gears-toolkit-db's outbox with its profile for high throughput.
#[derive(Clone, Copy)]
pub(crate) enum Gears {
    /// As shipped: a partition that was left behind is found after a minute.
    AsShipped,
    /// Partitions that were left behind are found at once, so that nothing stalls.
    Reconciled,
}

#[async_trait]
impl Library for Gears {
    async fn make_tables(&self, server: &Server) -> Result<(), Failure> {
        run_migrations_for_testing(&connect(server, 1).await?, outbox_migrations()).await?;
        server.run(include_str!("../sql/gears_empty.sql")).await
    }

    async fn senders(&self, server: &Server, count: usize) -> Result<Vec<Box<dyn Sender>>, Failure> {
        let db = connect(server, u32::try_from(count)?).await?;
        // It has to run so that the queue is known. Nothing wakes it, so it stays idle beside the senders.
        let idle = WorkerTuning::reconciler().idle_interval(Duration::from_secs(86_400));
        let running = Outbox::builder(db.clone()).reconciler_tuning(idle);
        let running =
            Arc::new(running.queue(QUEUE, Partitions::of(PARTITIONS)).leased(Handler).start().await?);
        let sender = || Box::new(Submission { db: db.clone(), running: running.clone() }) as Box<dyn Sender>;
        Ok((0..count).map(|_| sender()).collect())
    }

    async fn worker(&self, server: &Server, _job: &Job) -> Result<Box<dyn Worker>, Failure> {
        Ok(Box::new(Pipeline { form: *self, db: connect(server, IN_USE).await?, running: None }))
    }

    fn left(&self) -> &'static str {
        include_str!("../sql/gears_left.sql")
    }
}

async fn connect(server: &Server, at_once: u32) -> Result<Db, Failure> {
    let options = ConnectOpts {
        min_conns: Some(at_once),
        max_conns: Some(POOL.max(at_once + IN_USE)),
        ..Default::default()
    };
    Ok(connect_db(server.url(), options).await?)
}

struct Submission {
    db: Db,
    running: Arc<OutboxHandle>,
}

#[async_trait]
impl Sender for Submission {
    async fn send(&mut self, numbers: Range<u64>, payload: usize) -> Result<(), Failure> {
        for _ in 1..ATTEMPTS {
            if self.submit(numbers.clone(), payload).await.is_ok() {
                return Ok(());
            }
        }
        self.submit(numbers, payload).await
    }
}

impl Submission {
    async fn submit(&self, numbers: Range<u64>, payload: usize) -> Result<(), Failure> {
        let outbox = self.running.outbox().clone();
        let records = Records::to(QUEUE).payload_type("application/octet-stream");
        let records = numbers.fold(records, |records, number| {
            records.push((number % u64::from(PARTITIONS)) as u32, payload::bytes(number, payload))
        });
        let records = records.build()?;
        let submitted = self.db.transaction_ref_mapped(|transaction| {
            Box::pin(async move {
                // Without the wake nobody works on it yet.
                outbox.enqueue_batch(transaction, records).await?.discard();
                Ok::<_, Failure>(())
            })
        });
        submitted.await
    }
}

struct Pipeline {
    form: Gears,
    db: Db,
    running: Option<OutboxHandle>,
}

#[async_trait]
impl Worker for Pipeline {
    async fn start(&mut self) -> Result<(), Failure> {
        let outbox = Outbox::builder(self.db.clone()).profile(OutboxProfile::high_throughput());
        let outbox = match self.form {
            Gears::AsShipped => outbox,
            Gears::Reconciled => outbox.reconciler_tuning(WorkerTuning::reconciler().idle_interval(OFTEN)),
        };
        let queue = outbox.queue(QUEUE, Partitions::of(PARTITIONS)).leased(Handler);
        self.running = Some(queue.start().await?);
        Ok(())
    }
}

struct Handler;

#[async_trait]
impl LeasedHandler for Handler {
    async fn handle(&self, batch: &mut Batch<'_>) -> HandlerResult {
        let messages = batch.next_chunk(batch.len());
        LEDGER.record(messages.iter().map(|message| payload::number(&message.payload)));
        let count = messages.len() as u32;
        batch.ack_chunk(count);
        HandlerResult::Success
    }
}
