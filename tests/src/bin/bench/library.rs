use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream::{Claims, Relay, RelayConfig, Settled};
use claimstream_domain::{MessageId, NewMessage, Payload, QueueName, QueueStatus};
use claimstream_ports::Observe;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, StrategyChoice};
use claimstream_tokio::TokioTimer;
use futures::StreamExt;
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    Failure, Options,
    contender::Contender,
    instance::{Job, Work},
    round::unix_now,
};

const QUEUE: &str = "bench";

/// An instance that has had nothing for this long looks whether the queue is empty, and is done if it is.
const QUIET: Duration = Duration::from_millis(500);
/// What is still there after this long without anything happening counts as lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// Empties the outbox and fills it through the library's own enqueue.
pub(crate) async fn fill(url: &str, contender: Contender, options: &Options) -> Result<(), Failure> {
    let outbox = open(url, contender).await?;
    for table in ["claimstream_queue", "claimstream_message"] {
        outbox.connection().execute_unprepared(&format!("TRUNCATE TABLE {table}")).await?;
    }
    let queue = QueueName::new(QUEUE)?;
    let payload = Payload::new("application/octet-stream", vec![b'x'; options.payload])?;
    for start in (0..options.backlog).step_by(500) {
        let count = 500.min(options.backlog - start);
        let message = |_| NewMessage::new(MessageId::new(Uuid::now_v7()), queue.clone(), payload.clone());
        outbox.enqueue_now(&(0..count).map(message).collect::<Vec<_>>()).await?;
    }
    Ok(())
}

/// An instance that uses the library as a service would: a stream, handlers beside each other, acknowledgements.
pub(crate) struct Instance {
    outbox: Arc<SeaOrmOutbox>,
    claims: Claims,
    in_hand: usize,
}

impl Instance {
    pub(crate) async fn ready(job: &Job, contender: Contender) -> Result<Self, Failure> {
        let outbox = Arc::new(open(&job.url, contender).await?);
        let config = RelayConfig {
            batch: job.batch as u32,
            prefetch: 2 * job.batch as u32,
            settle_batch: job.batch as u32,
            ..RelayConfig::default()
        };
        let relay = Relay::new(outbox.clone(), TokioTimer::new(), config);
        Ok(Self { claims: relay.claims(QUEUE)?, in_hand: 2 * job.batch, outbox })
    }

    pub(crate) async fn drain(self, wait: impl FnOnce() -> Result<(), Failure>) -> Result<Work, Failure> {
        wait()?;
        let work = Mutex::new(Work { last: unix_now(), ..Work::default() });
        let handle = |claim: Result<claimstream::Claim, claimstream::RelayError>| async {
            let claim = claim.expect("a claim");
            let id = claim.message().id.uuid().as_u128();
            work.lock().expect("no panic").handed_out.push(id);
            std::hint::black_box(claim.message().payload.bytes());
            let answer = claim.ack().await.expect("an answer");
            let mut work = work.lock().expect("no panic");
            match answer {
                Settled::Accepted => {
                    work.acknowledged.push(id);
                    work.last = unix_now();
                }
                Settled::Superseded => work.superseded += 1,
            }
        };
        let draining = self.claims.for_each_concurrent(self.in_hand, handle);
        let quiet = async {
            loop {
                tokio::time::sleep(QUIET / 5).await;
                let last = work.lock().expect("no panic").last;
                let quiet = unix_now().saturating_sub(last);
                if quiet > PATIENCE || (quiet > QUIET && self.outbox.observe().await.is_ok_and(is_drained)) {
                    break;
                }
            }
        };
        futures::future::select(Box::pin(draining), Box::pin(quiet)).await;
        Ok(work.into_inner().expect("no panic"))
    }
}

fn is_drained(queues: Vec<QueueStatus>) -> bool {
    queues.iter().all(|queue| queue.depth == 0)
}

async fn open(url: &str, contender: Contender) -> Result<SeaOrmOutbox, Failure> {
    let strategy: StrategyChoice = contender.name().parse()?;
    let options = OpenOptions { strategy, max_connections: 4, ..OpenOptions::default() };
    Ok(SeaOrmOutbox::open(url, options).await?)
}
