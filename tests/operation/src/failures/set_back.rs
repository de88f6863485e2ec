//! A store that has fallen back: a failover has lost the last writes of a shard's lease.
//! Promise: a lone process continues from a fence that a failover has set back

use std::time::Duration;

use claimstream::Compose;
use claimstream_domain::{NewMessage, OrderingKey, Settled::Accepted};
use claimstream_sea_orm::{FrozenClock, SeaOrmOutbox};
use sea_orm::{ConnectionTrait, Statement};

use crate::{Fixture, Instance, LEASE, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds the tests on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    let servers = Server::ALL.map(|server| (server.name, server.url(&environment)));
    let servers = servers.into_iter().filter_map(|(name, url)| Some((name, Some(url?))));
    for (store, url) in std::iter::once(("sqlite", None)).chain(servers) {
        let backend = move || match &url {
            None => SeaOrmBackend::sqlite("shard_lease"),
            Some(url) => SeaOrmBackend::server(store, url, "shard_lease"),
        };
        let name = |what: &str| format!("{store}::shard_lease::set_back::{what}");
        let what = "a_lone_process_goes_on_from_a_fence_that_went_back_when_its_claims_have_lapsed";
        let lone = backend();
        suite.add_async_test(&name(what), async move { goes_on(&lone).await });
        // Guard: a shard that was free gets a new fence |
        // adapters/sea-orm/src/strategy/shard_lease/claim/hand_out.rs `next_fence`: by the state alone;
        // write.sql: no `:new_fence > fence`
        let what = "a_shard_that_was_free_gets_a_new_fence_whatever_the_books_say";
        suite.add_async_test(&name(what), async move { gets_a_new_fence(&backend()).await });
    }
}

const MESSAGES: usize = 6;

async fn goes_on(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let clock = FrozenClock::at(Fixture::start().as_micros());
    let store = backend.open(&url, Some(clock.clone())).await.expect("open");
    let instance = Instance::new(1, Ports::of(store.clone()), Fixture::fresh_queue(), 10);
    let key = OrderingKey::new("account-7").expect("a key");
    let message = |n| NewMessage::json(instance.queue().clone(), &n).expect("a message");
    let sent: Vec<_> = (0..MESSAGES).map(|n| message(n).ordered_by(key.clone())).collect();
    store.enqueue_now(&sent).await.expect("enqueue");
    assert_eq!(instance.take(MESSAGES).await.len(), MESSAGES);
    let set_back = "UPDATE claimstream_lease \
                    SET fence = fence - 1, holder = NULL, label = NULL, in_flight = 0, flights = NULL";
    let changed = store.connection().execute_unprepared(set_back).await.expect("an update");
    assert_eq!(changed.rows_affected(), 1);

    clock.advance(LEASE - Duration::from_millis(1));
    instance.finds_nothing().await;
    clock.advance(Duration::from_millis(1));
    let mut handled = Vec::new();
    while let Some(claimed) = instance.take(1).await.pop() {
        assert_eq!((claimed.attempt, instance.ack(&claimed).await), (2, Accepted));
        handled.push(claimed.message.id);
    }
    handled.sort();
    let mut expected: Vec<_> = sent.iter().map(|message| message.id).collect();
    expected.sort();
    assert_eq!(handled, expected);
}

/// A settlement freed the shard, and its answer was lost for good: the books still have the message, and the row has nothing.
async fn gets_a_new_fence(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let clock = FrozenClock::at(Fixture::start().as_micros());
    let store = backend.open(&url, Some(clock.clone())).await.expect("open");
    let instance = Instance::new(1, Ports::of(store.clone()), Fixture::fresh_queue(), 10);
    let message = NewMessage::json(instance.queue().clone(), &7).expect("a message");
    store.enqueue_now(std::slice::from_ref(&message)).await.expect("enqueue");
    instance.take_one().await;
    let settled = "UPDATE claimstream_lease SET holder = NULL, label = NULL, in_flight = 0, flights = NULL";
    let changed = store.connection().execute_unprepared(settled).await.expect("an update");
    assert_eq!(changed.rows_affected(), 1);
    clock.advance(LEASE);

    // Another process reads the message now, and stands still before it writes its claim.
    let read = fence(&store).await;
    let mut again = instance.take(1).await;
    if again.is_empty() {
        again = instance.take(1).await;
    }
    assert_eq!(instance.ack(&again[0]).await, Accepted);
    let late =
        format!("UPDATE claimstream_lease SET fence = fence + 1 WHERE fence = {read} AND holder IS NULL");
    let late = store.connection().execute_unprepared(&late).await.expect("an update");
    assert_eq!(late.rows_affected(), 0, "a claim of a message that has ended is written");
}

async fn fence(store: &SeaOrmOutbox) -> i64 {
    let connection = store.connection();
    let asked =
        Statement::from_string(connection.get_database_backend(), "SELECT fence FROM claimstream_lease");
    let row = connection.query_one_raw(asked).await.expect("an answer").expect("a row");
    row.try_get_by_index(0).expect("a fence")
}
