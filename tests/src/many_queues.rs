//! Many queues in one process with few connections: nothing holds one while it waits for another, nor while it waits for a
//! shard.

use std::{
    sync::Arc,
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

/// How many queues one process works on at one time, and how many messages each has.
const QUEUES: usize = 20;
const EACH: usize = 100;
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
            are_enough_for_many_queues(&plain(), connections, Duration::ZERO).await;
        });
        suite.add_async_trial(&(name + "are_enough_for_many_queues_beside_handlers"), async move {
            are_enough_for_many_queues(&busy(), connections, HANDLING).await;
        });
    }
}

/// Relays of one process empty many queues at one time, each with handlers that have transactions of their own for so long.
async fn are_enough_for_many_queues(venue: &SeaOrmVenue, connections: u32, handling: Duration) {
    let url = venue.fresh_database().await.expect("a database");
    let shards = ShardCount::new(16).expect("a number of shards");
    let options = OpenOptions {
        max_connections: connections,
        relay_connections: connections,
        shards,
        ..venue.options()
    };
    let outbox = Arc::new(SeaOrmOutbox::open(&url, options).await.expect("open"));
    let queues: Vec<_> = (0..QUEUES).map(|_| Stage::fresh_queue()).collect();
    for queue in &queues {
        let message = |n| NewMessage::json(queue.clone(), &n).expect("a message");
        let messages: Vec<_> = (0..EACH).map(message).collect();
        outbox.enqueue_now(&messages).await.expect("enqueue");
    }
    let begun = Instant::now();
    let emptied = queues.iter().map(|queue| tokio::spawn(empties(outbox.clone(), queue.clone(), handling)));
    let emptied = tokio::time::timeout(IN_TIME, join_all(emptied)).await.expect("it takes too long");
    eprintln!("{} queues emptied in {:.1?}", emptied.len(), begun.elapsed());
    for done in emptied {
        done.expect("no panic");
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

/// A relay on one queue until all its messages are settled.
async fn empties(outbox: Arc<SeaOrmOutbox>, queue: QueueName, handling: Duration) {
    let relay = Relay::new(outbox.clone(), TokioTimer::new(), RelayConfig::default());
    let mut claims = relay.claims(queue).expect("claims");
    let handle = async |claim: Result<Claim, RelayError>| {
        let claim = claim.expect("a claim");
        if !handling.is_zero() {
            let own = begun(&outbox).await;
            tokio::time::sleep(handling).await;
            own.commit().await.expect("commit");
        }
        assert_eq!(claim.ack().await.expect("ack"), Settled::Accepted);
    };
    claims.by_ref().take(EACH).for_each_concurrent(8, handle).await;
    claims.close().await.expect("close");
}
