//! Many queues in one process with few connections: nothing holds one while it waits for another, nor while it waits for a
//! shard.
//! Promise: no call holds a connection while it waits for a shard, nor a shard while it waits for a
//! connection

use std::time::Duration;

use claimstream_sea_orm::Strategy;
use claimstream_testbed::{Load, Server};

use crate::{Suite, backend::SeaOrmBackend, repetitions};

/// The queues of one process, without connections and handlers.
fn load() -> Load {
    Load { queues: 20, each: repetitions(100) as usize, connections: None, handling: Duration::ZERO }
}

/// Without an order of waiting no time is enough.
const STUCK: Duration = Duration::from_secs(3600);
/// How long a handler keeps a transaction of its own.
const HANDLING: Duration = Duration::from_millis(2);

/// Adds the tests for SQLite under a lease, and for every server that is here with each strategy.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    add(suite, "sqlite", Strategy::ShardLease, || SeaOrmBackend::sqlite(Strategy::ShardLease.name()));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies().iter().copied() {
            let url = url.clone();
            add(suite, server.name, strategy, move || {
                SeaOrmBackend::server(server.name, &url, strategy.name())
            });
        }
    }
}

fn add(
    suite: &mut Suite,
    store: &str,
    strategy: Strategy,
    backend: impl Fn() -> SeaOrmBackend + Clone + Send + 'static,
) {
    for connections in [2, 10] {
        let name = format!("{store}::{strategy}::many_queues::{connections}_connections_");
        let (plain, busy) = (backend.clone(), backend.clone());
        suite.add_async_test(&(name.clone() + "are_enough_for_many_queues"), async move {
            are_enough(&plain(), Load { connections: Some(connections), ..load() }).await;
        });
        // Handlers that hold transactions meet the same pools on every server; one of each kind shows it.
        if !["sqlite", "mariadb-10.5", "mysql-9.7"].contains(&store) {
            continue;
        }
        suite.add_async_test(&(name + "are_enough_for_many_queues_with_handlers"), async move {
            are_enough(&busy(), Load { connections: Some(connections), handling: HANDLING, ..load() }).await;
        });
    }
}

async fn are_enough(backend: &SeaOrmBackend, load: Load) {
    let url = backend.database_of(load.shards()).await.expect("a database");
    let took = load.empty(&url, backend.options(), STUCK).await.expect("it takes too long");
    eprintln!("{} queues emptied in {took:.1?}", load.queues);
}
