use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use claimstream::{Compose, Enqueue, NewMessage, Relay, RelayConfig};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::StreamExt;
use tokio::task::JoinHandle;

use crate::Failure;

/// Messages that are enqueued at a rate and handled at once, in a queue of their own.
pub(crate) struct Load {
    handled: Arc<AtomicU64>,
    tasks: Vec<JoinHandle<()>>,
}

impl Load {
    const QUEUE: &str = "load";
    /// How many messages a transaction enqueues.
    const TOGETHER: u32 = 5;

    pub(crate) async fn start(url: &str, rate: u32) -> Result<Self, Failure> {
        let outbox = Arc::new(SeaOrmOutbox::open(url, OpenOptions::default()).await?);
        let handled = Arc::new(AtomicU64::new(0));
        let tasks = vec![
            tokio::spawn(enqueue(outbox.clone(), rate)),
            tokio::spawn(handle(outbox, Arc::clone(&handled))),
        ];
        Ok(Self { handled, tasks })
    }

    /// Ends it, and answers how many messages were handled.
    pub(crate) async fn stop(self) -> Result<u64, Failure> {
        for task in self.tasks {
            if task.is_finished() {
                return Err("the load has ended by itself".into());
            }
            task.abort();
        }
        Ok(self.handled.load(Ordering::Relaxed))
    }
}

async fn enqueue(outbox: Arc<SeaOrmOutbox>, rate: u32) {
    let every = Duration::from_secs(1) * Load::TOGETHER / rate.max(1);
    let mut ticks = tokio::time::interval(every);
    loop {
        ticks.tick().await;
        let message = || NewMessage::json(Load::QUEUE, &"x".repeat(200));
        let Ok(messages) = (0..Load::TOGETHER).map(|_| message()).collect::<Result<Vec<_>, _>>() else {
            return;
        };
        let Ok(tx) = outbox.begin().await else { return };
        if outbox.enqueue(&tx, &messages).await.is_err() || outbox.commit(tx).await.is_err() {
            return;
        }
    }
}

async fn handle(outbox: Arc<SeaOrmOutbox>, handled: Arc<AtomicU64>) {
    let Ok(claims) = Relay::new(outbox, TokioTimer::new(), RelayConfig::default()).claims(Load::QUEUE) else {
        return;
    };
    let handle = async |claim: Result<claimstream::Claim, claimstream::RelayError>| {
        if let Ok(claim) = claim
            && claim.ack().await.is_ok()
        {
            handled.fetch_add(1, Ordering::Relaxed);
        }
    };
    claims.for_each_concurrent(64, handle).await;
}
