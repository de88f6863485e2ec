//! When shards that a resharding has made are opened.
//! Promise: a new shard is not opened while an older message of one of its keys is in hand

use std::{
    sync::Mutex,
    time::{Duration, Instant as Moment},
};

use claimstream::Compose;
use claimstream_domain::{NewMessage, OrderingKey, Resharding, Settled, ShardCount};
use claimstream_testbed::eventually;
use tokio::time::sleep;

use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds the test on SQLite and on every server that is here, with each strategy that keeps a relay to its shards or to its rows.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for strategy in ["preemptive_update", "shard_lease"] {
        // Guard: a new shard opens when its old one holds nothing older |
        // adapters/sea-orm/src/resharding/run.rs `open_heirs`: opens though messages are in hand
        let name =
            |store: &str| format!("{store}::{strategy}::resharding::a_new_shard_waits_for_what_is_in_hand");
        suite.add_async_test(&name("sqlite"), async move {
            waits_for_what_is_in_hand(&SeaOrmBackend::sqlite(strategy)).await;
        });
        for server in Server::ALL {
            let Some(url) = server.url(&environment) else { continue };
            let backend = SeaOrmBackend::server(server.name, &url, strategy);
            suite.add_async_test(&name(server.name), async move {
                waits_for_what_is_in_hand(&backend).await;
            });
        }
    }
}

/// How long a message that must wait is looked for. The command lets a shard go after five seconds in which something is in hand there,
/// and a relay sees a shard that has opened after two.
const LOOKED_FOR: Duration = Duration::from_secs(8);

async fn waits_for_what_is_in_hand(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let open = async || backend.open(&url, None).await.expect("open");
    let (writing, commanding) = (open().await, open().await);
    let relay = Instance::new(1, Ports::of(writing.clone()), Fixture::fresh_queue(), 20);
    let key = key_that_moves(writing.shards());
    let message = || NewMessage::json(relay.queue().clone(), &7).expect("a message").ordered_by(key.clone());
    relay.enqueue(&[message()]).await;
    let older = relay.take_one().await;
    let command = tokio::spawn(async move { commanding.reshard(doubled(commanding.shards()), |_| {}).await });
    eventually("the cut", || async { writing.shard_status().await.expect("a status").is_cut }).await;

    let younger = message();
    relay.enqueue(std::slice::from_ref(&younger)).await;
    let others = [relay.of(2, Ports::of(open().await)), relay.fork(3)];
    let begun = Moment::now();
    while begun.elapsed() < LOOKED_FOR {
        for other in &others {
            let early = other.claim(10).await;
            assert!(early.is_empty(), "{early:?} while an older message of its key is in hand");
        }
        sleep(Duration::from_millis(50)).await;
    }
    assert!(!writing.shard_status().await.expect("a status").is_open(), "all shards are open");

    assert_eq!(relay.ack(&older).await, Settled::Accepted);
    command.await.expect("a call").expect("a resharding");
    let last = Mutex::new(None);
    eventually("the younger message is claimed", || async {
        let claimed = others[0].claim(10).await.pop();
        claimed.is_some_and(|claimed| last.lock().expect("no panic").replace(claimed.message.id).is_none())
    })
    .await;
    assert_eq!(*last.lock().expect("no panic"), Some(younger.id));
}

fn doubled(shards: ShardCount) -> ShardCount {
    ShardCount::new(shards.get() * 2).expect("a count")
}

/// A key whose messages lie elsewhere when there are twice as many shards.
fn key_that_moves(shards: ShardCount) -> OrderingKey {
    let resharding = Resharding::new(shards, doubled(shards)).expect("a factor");
    let moves =
        |key: &String| resharding.target(shards.shard_of_bytes(key.as_bytes()), key.as_bytes()).is_some();
    let key = (0..100).map(|n| format!("account-{n}")).find(moves).expect("one of two keys moves");
    key.parse().expect("a key")
}
