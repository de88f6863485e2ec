use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use claimstream::{Relay, RelayConfig, Verdict, handler_fn};
use claimstream_tokio::TokioTimer;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::{
    Failure,
    contender::Own,
    job::{Job, Work},
    library::{self, Tally},
    machine::resident_mib,
    parent,
};

/// What a process that held many messages came to.
#[derive(Serialize, Deserialize, Debug, Default)]
pub(crate) struct Held {
    /// Resident memory before the first claim, in MiB.
    pub(crate) before_mib: f64,
    /// The same with all messages in hand, at the end of the wait.
    pub(crate) held_mib: f64,
    /// How many the pipeline acknowledged in the end.
    pub(crate) acknowledged: u64,
    pub(crate) work: Work,
}

/// A pipeline whose handlers have all messages of the backlog in hand at a time, for longer than a third of the lease.
pub(crate) async fn run(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    let outbox = Arc::new(library::open(&job.url, Own::named(&job.contender)?, 4).await?);
    let most = job.backlog as u32;
    let config = RelayConfig { prefetch: most, concurrency: most, ..library::relay_config(&job) };
    let relay = Relay::new(outbox, TokioTimer::new(), config);
    let (let_go, held) = watch::channel(false);
    let (tally, count) = (Arc::new(Tally::begin()), Arc::new(AtomicU64::new(0)));
    let handler = {
        let (tally, count) = (tally.clone(), count.clone());
        handler_fn(move |claimed: claimstream::Claimed| {
            tally.handed_out(claimed.message.payload.bytes());
            count.fetch_add(1, Ordering::Relaxed);
            let mut held = held.clone();
            async move {
                let _ = held.wait_for(|go| *go).await;
                Verdict::ack()
            }
        })
    };
    let pipeline = relay.pipeline(library::QUEUE, handler)?;
    parent::wait_for_go()?;
    let mut result = Held { before_mib: resident_mib(), ..Held::default() };
    let watcher = async {
        let all = async || {
            while count.load(Ordering::Relaxed) < job.backlog {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(60), all()).await;
        tokio::time::sleep(Duration::from_secs(job.seconds)).await;
        result.held_mib = resident_mib();
        let _ = let_go.send(true);
    };
    let report = pipeline.run_until(watcher).await?;
    result.acknowledged = report.acked;
    let tally = Arc::into_inner(tally).ok_or("a handler is still there")?;
    result.work = tally.end();
    parent::report(&result)
}
