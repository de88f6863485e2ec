use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use claimstream::{Claim, Compose, Relay, RelayConfig, RelayError};
use claimstream_domain::{NewMessage, QueueName, Settled, ShardCount};
use claimstream_ports::StoreErrorKind;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::{StreamExt, future::join_all};
use sea_orm::DatabaseTransaction;
use uuid::Uuid;

/// Many queues that one process empties at one time.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// How many queues it works on at one time.
    pub queues: usize,
    /// How many messages each of them has.
    pub each: usize,
    /// The most connections of either pool; as many as an outbox has by default if none are named.
    pub connections: Option<u32>,
    /// For how long a handler keeps a transaction of its own; it has none if this is zero.
    pub handling: Duration,
}

impl Load {
    /// Relays of one process empty the queues of the outbox at `url`, which is opened with these options but for its
    /// connections and shards.
    ///
    /// Answers how long it took, or how many messages were settled if it was not done `in_time`.
    pub async fn empty(self, url: &str, options: OpenOptions, in_time: Duration) -> Result<Duration, usize> {
        let outbox = Arc::new(SeaOrmOutbox::open(url, self.options(options)).await.expect("open"));
        let queues = self.fill(&outbox).await;
        let (begun, settled) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
        let emptied: Vec<_> = queues
            .into_iter()
            .map(|queue| tokio::spawn(self.empty_one(outbox.clone(), queue, settled.clone())))
            .collect();
        let stop: Vec<_> = emptied.iter().map(tokio::task::JoinHandle::abort_handle).collect();
        match tokio::time::timeout(in_time, join_all(emptied)).await {
            Ok(emptied) => emptied.into_iter().for_each(|done| done.expect("no panic")),
            Err(_) => {
                stop.iter().for_each(tokio::task::AbortHandle::abort);
                return Err(settled.load(Ordering::Relaxed));
            }
        }
        Ok(begun.elapsed())
    }

    /// The shards that its queues are cut into.
    pub fn shards(self) -> ShardCount {
        ShardCount::new(16).expect("a number of shards")
    }

    fn options(self, options: OpenOptions) -> OpenOptions {
        let defaults = OpenOptions::default();
        OpenOptions {
            max_connections: self.connections.unwrap_or(defaults.max_connections),
            relay_connections: self.connections.unwrap_or(defaults.relay_connections),
            shards: self.shards(),
            ..options
        }
    }

    async fn fill(self, outbox: &SeaOrmOutbox) -> Vec<QueueName> {
        let queue = |_| QueueName::new(&format!("q-{}", Uuid::now_v7().simple())).expect("a valid name");
        let queues: Vec<_> = (0..self.queues).map(queue).collect();
        for queue in &queues {
            let message = |n| NewMessage::json(queue.clone(), &n).expect("a message");
            let messages: Vec<_> = (0..self.each).map(message).collect();
            outbox.enqueue_now(&messages).await.expect("enqueue");
        }
        queues
    }

    /// A relay on one queue until all its messages are settled.
    async fn empty_one(self, outbox: Arc<SeaOrmOutbox>, queue: QueueName, settled: Arc<AtomicUsize>) {
        let relay = Relay::new(outbox.clone(), TokioTimer::new(), RelayConfig::default());
        let mut claims = relay.claims(queue).expect("claims");
        let handle = async |claim: Result<Claim, RelayError>| {
            let claim = claim.expect("a claim");
            if !self.handling.is_zero() {
                let own = begun(&outbox).await;
                tokio::time::sleep(self.handling).await;
                own.commit().await.expect("commit");
            }
            assert_eq!(claim.ack().await.expect("ack"), Settled::Accepted);
            settled.fetch_add(1, Ordering::Relaxed);
        };
        claims.by_ref().take(self.each).for_each_concurrent(8, handle).await;
        claims.close().await.expect("close");
    }
}

/// A transaction of a caller's; more of them are asked for than there are connections, so one may have to ask again.
async fn begun(outbox: &SeaOrmOutbox) -> DatabaseTransaction {
    loop {
        match outbox.begin().await {
            Err(error) if error.kind() == StoreErrorKind::Transient => {}
            begun => return begun.expect("begin"),
        }
    }
}
