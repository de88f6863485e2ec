use std::{io::Write, sync::Arc, time::Duration};

use claimstream::{Claim, Lease, Pacing, Relay, RelayConfig, RelayError, RetryPolicy};
use claimstream_domain::{Jitter, Settled};
use claimstream_sea_orm::{OpenOptions, Order, SeaOrmOutbox, StrategyChoice};
use claimstream_tokio::TokioTimer;
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::{
    Failure,
    notebook::Notebook,
    task::{Fate, QUEUE, Task},
};

/// What an instance is started with.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Job {
    pub(crate) url: String,
    /// No other process of the run has it.
    pub(crate) number: u32,
    pub(crate) order: String,
    pub(crate) lease: u64,
    pub(crate) work: u64,
    pub(crate) seed: u64,
}

/// How often a message is tried; the claim after that buries it.
pub(crate) const ATTEMPTS: u32 = 5;
/// The longest wait of an instance that finds nothing.
pub(crate) const POLL: Duration = Duration::from_millis(500);

const BATCH: u32 = 50;
const RETRY: Duration = Duration::from_millis(200);

impl Job {
    pub(crate) fn label(&self) -> String {
        format!("instance-{}", self.number)
    }

    fn config(&self) -> Result<RelayConfig, Failure> {
        Ok(RelayConfig {
            batch: BATCH,
            prefetch: 2 * BATCH,
            settle_batch: BATCH,
            lease: Lease::new(Duration::from_millis(self.lease))?,
            pacing: Pacing { idle_max: POLL, ..Pacing::default() },
            retry: RetryPolicy { base: RETRY, cap: RETRY, max_attempts: ATTEMPTS, jitter: Jitter::None },
            ..RelayConfig::default()
        })
    }
}

/// Opens an outbox with the strategy that owns shards.
pub(crate) async fn open(url: &str, order: Order) -> Result<SeaOrmOutbox, Failure> {
    let strategy: StrategyChoice = "shard_lease".parse()?;
    let options = OpenOptions { strategy, order, max_connections: 6, ..OpenOptions::default() };
    Ok(SeaOrmOutbox::open(url, options).await?)
}

/// The life of an instance: it works until its standard input ends, gives back what it has not begun, and ends.
pub(crate) async fn run(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    let order: Order = job.order.parse()?;
    let outbox = Arc::new(open(&job.url, order).await?);
    let relay = Relay::new(outbox.clone(), TokioTimer::new(), job.config()?).with_label(&job.label())?;
    let mut claims = relay.claims(QUEUE)?;
    let notebook = Notebook::open(outbox.connection().clone());
    println!("ready");
    std::io::stdout().flush()?;
    let at_once = 2 * BATCH as usize;
    let handling = claims.by_ref().take_until(stop_requested());
    handling.for_each_concurrent(at_once, |claim| handle(&job, order, &notebook, claim)).await;
    claims.close().await?;
    notebook.close().await
}

async fn stop_requested() {
    let (stop, stopped) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = std::io::stdin().read_line(&mut line);
        let _ = stop.send(());
    });
    let _ = stopped.await;
}

/// Handles one message; what goes wrong here ends the process, so that it is seen.
async fn handle(job: &Job, order: Order, notebook: &Notebook, claim: Result<Claim, RelayError>) {
    let handled = async {
        let claim = claim?;
        let (task, attempt) = (Task::of(claim.message())?, claim.attempt());
        notebook.hand_out(job.number, order, claim.claimed(), &task, claim.remaining()).await?;
        let id = claim.message().id.uuid();
        tokio::time::sleep(Duration::from_millis(job.work)).await;
        let fate = task.fate(attempt, job.seed);
        if fate == Fate::Done || order == Order::PerKeySkip {
            notebook.ends(id);
        }
        let answer = match fate {
            Fate::Crash => std::process::abort(),
            Fate::Failed => claim.nack("not now").await,
            Fate::Done => claim.ack().await,
        };
        if !matches!(answer, Ok(Settled::Accepted)) {
            notebook.goes_on(id);
        }
        match answer {
            Ok(answer) => notebook.answer(id, attempt, answer)?,
            // The message comes back when its lease ends.
            Err(unknown) => eprintln!("{}: {unknown}", job.label()),
        }
        Ok(())
    };
    if let Err(error) = handled.await as Result<(), Failure> {
        eprintln!("{}: {error}", job.label());
        std::process::exit(1);
    }
}
