//! Many queues in one process with few connections: nothing holds one while it waits for another, nor while it waits for a
//! shard.

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

use crate::{Server, Stage, Suite, venue::SeaOrmVenue};

/// What one process is to do.
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

/// What is played in the suite.
const LOAD: Load = Load { queues: 20, each: 100, connections: None, handling: Duration::ZERO };
/// So long it takes on a machine that has much else to do; without an order of waiting no time is enough.
const IN_TIME: Duration = Duration::from_secs(100);
/// How long a handler keeps a transaction of its own.
const HANDLING: Duration = Duration::from_millis(2);

/// Adds the trials for SQLite under a lease, and for every server that is here with each strategy.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    add(suite, "sqlite", "shard_lease", || SeaOrmVenue::sqlite("shard_lease"));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies().iter().copied().filter(|strategy| *strategy != "auto") {
            let url = url.clone();
            add(suite, server.name, strategy, move || SeaOrmVenue::server(server.name, &url, strategy));
        }
    }
}

fn add(
    suite: &mut Suite,
    store: &str,
    strategy: &str,
    venue: impl Fn() -> SeaOrmVenue + Clone + Send + 'static,
) {
    for connections in [2, 10] {
        let name = format!("{store}::{strategy}::many_queues::{connections}_connections_");
        let (plain, busy) = (venue.clone(), venue.clone());
        suite.add_async_trial(&(name.clone() + "are_enough_for_many_queues"), async move {
            are_enough(&plain(), Load { connections: Some(connections), ..LOAD }).await;
        });
        suite.add_async_trial(&(name + "are_enough_for_many_queues_beside_handlers"), async move {
            are_enough(&busy(), Load { connections: Some(connections), handling: HANDLING, ..LOAD }).await;
        });
    }
}

async fn are_enough(venue: &SeaOrmVenue, load: Load) {
    let took = empty(venue, load, IN_TIME).await.expect("it takes too long");
    eprintln!("{} queues emptied in {took:.1?}", load.queues);
}

/// Relays of one process empty many queues at one time, each with handlers that have transactions of their own for so long;
/// answers how long it took, or how many messages were settled if it was not done `in_time`.
pub async fn empty(venue: &SeaOrmVenue, load: Load, in_time: Duration) -> Result<Duration, usize> {
    let url = venue.fresh_database().await.expect("a database");
    let shards = ShardCount::new(16).expect("a number of shards");
    let defaults = OpenOptions::default();
    let options = OpenOptions {
        max_connections: load.connections.unwrap_or(defaults.max_connections),
        relay_connections: load.connections.unwrap_or(defaults.relay_connections),
        shards,
        ..venue.options()
    };
    let outbox = Arc::new(SeaOrmOutbox::open(&url, options).await.expect("open"));
    let queues: Vec<_> = (0..load.queues).map(|_| Stage::fresh_queue()).collect();
    for queue in &queues {
        let message = |n| NewMessage::json(queue.clone(), &n).expect("a message");
        let messages: Vec<_> = (0..load.each).map(message).collect();
        outbox.enqueue_now(&messages).await.expect("enqueue");
    }
    let (begun, settled) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
    let emptied: Vec<_> = queues
        .into_iter()
        .map(|queue| tokio::spawn(empties(outbox.clone(), queue, load, settled.clone())))
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

/// A transaction of a caller's; more of them are asked for than there are connections, so one may have to ask again.
async fn begun(outbox: &SeaOrmOutbox) -> DatabaseTransaction {
    loop {
        match outbox.begin().await {
            Err(error) if error.kind() == StoreErrorKind::Transient => {}
            begun => return begun.expect("begin"),
        }
    }
}

/// A relay on one queue until all its messages are settled.
async fn empties(outbox: Arc<SeaOrmOutbox>, queue: QueueName, load: Load, settled: Arc<AtomicUsize>) {
    let relay = Relay::new(outbox.clone(), TokioTimer::new(), RelayConfig::default());
    let mut claims = relay.claims(queue).expect("claims");
    let handle = async |claim: Result<Claim, RelayError>| {
        let claim = claim.expect("a claim");
        if !load.handling.is_zero() {
            let own = begun(&outbox).await;
            tokio::time::sleep(load.handling).await;
            own.commit().await.expect("commit");
        }
        assert_eq!(claim.ack().await.expect("ack"), Settled::Accepted);
        settled.fetch_add(1, Ordering::Relaxed);
    };
    claims.by_ref().take(load.each).for_each_concurrent(8, handle).await;
    claims.close().await.expect("close");
}
