//! A stream that stops while its store gives back what it had leased ahead.
//! Promise: a stream that stops while its store gives messages back waits for them

use std::time::{Duration, Instant};

use claimstream::Compose;
use claimstream_domain::{Disposition, NewMessage, OrderingKey, Settled::Accepted, Settlement};
use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::{ConnectionTrait, DbBackend, Statement, TransactionTrait};
use tokio::time::timeout;

use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend};
use claimstream_testbed::statement_waits;

/// Adds the test on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        // Guard: a stopped stream waits for messages that are being given back |
        // adapters/sea-orm/src/strategy/shard_lease/give_back.rs `give_back_all`: no `all_given_back`
        let name =
            format!("{}::shard_lease::resting::who_rests_waits_for_what_is_on_its_way_back", server.name);
        suite.add_async_test(&name, async move {
            waits_for_what_is_on_its_way_back(&SeaOrmBackend::server(server.name, &url, "shard_lease")).await;
        });
    }
}

/// As many as make a claim worth reading ahead for.
const BATCH: u32 = 60;
/// No longer than a server lets a session wait for a row.
const LOCK_WAIT: Duration = Duration::from_secs(1);

/// The process may end when the rest has come: what is still on its way then keeps its shard for a lease.
async fn waits_for_what_is_on_its_way_back(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let store = backend.open(&url, None).await.expect("open");
    for _ in 0..20 {
        let instance = Instance::new(1, Ports::of(store.clone()), Fixture::fresh_queue(), 10);
        lease_ahead(&store, &instance).await;
        if is_seen_to_wait(&store, &instance).await {
            return;
        }
    }
    panic!("nothing was ever on its way back");
}

/// The second full claim reads more ahead, which waits for a fifth of a second.
async fn lease_ahead(store: &SeaOrmOutbox, instance: &Instance) {
    let key = OrderingKey::new("account-7").expect("a key");
    let message = |n| NewMessage::json(instance.queue().clone(), &n).expect("a message");
    let sent: Vec<_> = (0..300).map(|n| message(n).ordered_by(key.clone())).collect();
    store.enqueue_now(&sent).await.expect("enqueue");
    for _ in 0..2 {
        let claimed = instance.claim(BATCH).await;
        let done = Disposition::Done { emit: vec![] };
        let done = |receipt| Settlement { receipt, disposition: done.clone() };
        let done: Vec<_> = claimed.into_iter().map(|claimed| done(claimed.receipt)).collect();
        assert!(instance.settle_all(&done).await.iter().all(|settled| *settled == Accepted));
    }
}

/// Whether the machine was so quick that something was leased ahead, and was on its way back while its row was locked.
async fn is_seen_to_wait(store: &SeaOrmOutbox, instance: &Instance) -> bool {
    let leased = async || instance.status().await.map_or(0, |status| status.leased);
    if leased().await < u64::from(BATCH) {
        return false;
    }
    let begun = Instant::now();
    let other = store.connection().begin().await.expect("begin");
    let lock = Statement::from_string(DbBackend::MySql, "SELECT fence FROM claimstream_lease FOR UPDATE");
    other.query_all_raw(lock).await.expect("the lease");
    if timeout(LOCK_WAIT, statement_waits(store)).await.is_err() {
        return false;
    }
    let mut rest = instance.ports.claiming.release_read_ahead(instance.queue());
    let early = timeout(Duration::from_millis(100), &mut rest).await;
    if begun.elapsed() > LOCK_WAIT {
        return false;
    }
    assert!(early.is_err(), "it did not wait");
    other.commit().await.expect("commit");
    if begun.elapsed() > LOCK_WAIT {
        return false;
    }
    rest.await.expect("released");
    assert_eq!(leased().await, 0);
    true
}
