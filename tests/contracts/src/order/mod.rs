//! The order of keys under random failures, kills and take-overs.
//!
//! Several instances claim and settle as a script says; some are killed and others opened in their place, so that shards
//! change hands. Whatever happens: what is accepted of a key is in order and without a gap, every attempt is counted, and
//! nothing is accepted twice.
//! Promise: accepted messages of a key are in order and without a gap, through failures, kills and
//! take-overs; any number of keys may wait for a retry

mod copies;
mod pipeline;
pub mod reading_on;
mod world;

use std::{sync::Arc, time::Duration};

use claimstream_domain::{Settled, ShardCount};
use claimstream_sea_orm::{FrozenClock, OpenOptions, SeaOrmOutbox};
use proptest::{
    collection::vec,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use sea_orm::{ConnectionTrait, DatabaseTransaction};
use tokio::sync::oneshot;

pub use self::{copies::add_copies_to, pipeline::add_pipeline_to};
use self::{
    reading_on::claimed_in_the_end,
    world::{World, step},
};
pub(crate) use crate::fixture::keyed_message as message;
use crate::{
    Fixture, Instance, Ports, Suite,
    backend::{Backend, SeaOrmBackend},
    ids, repetitions,
    suite::RUNTIME,
};

/// Adds the property to a backend that keeps order.
pub fn add_to(suite: &mut Suite, backend: Arc<SeaOrmBackend>) {
    for (name, runs) in [(DISTURB_NO_KEY, false), (DISTURB_NO_RUN, true)] {
        add_property_to(suite, Arc::clone(&backend), name, runs);
    }
}

// Guard: only settlements that finish messages leave the list of those in flight unwritten |
// adapters/sea-orm/src/strategy/shard_lease/settle/proofs.rs `proof`: `prove` for every outcome
const DISTURB_NO_KEY: &str = "random_failures_kills_and_take_overs_disturb_no_key";
const DISTURB_NO_RUN: &str = "random_failures_kills_and_take_overs_disturb_no_run_of_a_key";

fn add_property_to(suite: &mut Suite, backend: Arc<SeaOrmBackend>, name: &str, runs: bool) {
    let name = format!("{}::{}::order::{name}", backend.name(), backend.strategy());
    suite.add_test(&name, move || {
        let cases = if backend.name() == "sqlite" { 48 } else { repetitions(16) };
        let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let run = runner.run(&vec(step(), 10..60), |script| {
            RUNTIME.block_on(async {
                let mut world = World::open(backend.clone(), runs).await;
                for step in &script {
                    world.run(step).await;
                }
                world.drain().await;
                Ok(())
            })
        });
        run.unwrap_or_else(|failure| panic!("{failure}"));
    });
}

/// More keys than a statement of the database can name.
pub fn add_many_keys_to(suite: &mut Suite, backend: Arc<SeaOrmBackend>) {
    let name = format!("{}::{}::order::{MANY_KEYS}", backend.name(), backend.strategy());
    suite.add_async_test(&name, async move {
        // A machine that stands still for as long as a claim takes shows nothing.
        while !many_keys_wait(&backend).await {}
    });
}

const MANY_KEYS: &str = "however_many_keys_wait_what_is_free_behind_them_is_found";

/// Every key has a message that waits for its retry; behind all of them is one that is free. What is settled in the shard
/// meanwhile does not wait until that one is found: answers whether the settlement was answered before the claim.
async fn many_keys_wait(backend: &SeaOrmBackend) -> bool {
    let shards = ShardCount::new(1).expect("a shard");
    let url = backend.database_of(shards).await.expect("a database");
    let options = OpenOptions { shards, ..backend.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 1);
    outbox.enqueue_now(&[message(instance.queue(), "in hand")]).await.expect("enqueue");
    let in_hand = instance.take_one().await;
    let (keys, park) = match backend.name() {
        "sqlite" => (20_000, "UPDATE claimstream_queue SET parked_until = 253402300799000000"),
        _ => (36_000, "UPDATE claimstream_queue SET parked_until = '2100-01-01'"),
    };
    for some in (0..keys).collect::<Vec<_>>().chunks(1000) {
        let some: Vec<_> = some.iter().map(|n| message(instance.queue(), &format!("account-{n}"))).collect();
        outbox.enqueue_now(&some).await.expect("enqueue");
    }
    outbox.connection().execute_unprepared(park).await.expect("all of them wait");
    let free = message(instance.queue(), "another");
    instance.enqueue(std::slice::from_ref(&free)).await;
    let claimer = instance.clone();
    let claim = tokio::spawn(async move { claimer.claim(100).await });
    // The claim has begun to read by then.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(instance.ack(&in_hand).await, Settled::Accepted);
    let is_first = !claim.is_finished();
    let found = claim.await.expect("no panic");
    let found = if found.is_empty() { claimed_in_the_end(&instance).await } else { found };
    assert_eq!(ids(&found), [free.id]);
    assert_eq!(instance.ack(&found[0]).await, Settled::Accepted);
    is_first
}

/// Adds the recipe for the order of commits to a backend on which two transactions can write at a time.
pub fn add_commits_to(suite: &mut Suite, backend: Arc<SeaOrmBackend>) {
    let name = format!(
        "{}::{}::order::who_locks_a_row_of_the_key_first_has_the_order_of_commits",
        backend.name(),
        backend.strategy()
    );
    suite.add_async_test(&name, commits_in_order(backend));
}

/// A second transaction that begins while the first one is open makes its message's due time after the first one's commit.
async fn commits_in_order(backend: Arc<SeaOrmBackend>) {
    let url = backend.database().await.expect("a database");
    let clock = FrozenClock::at(Fixture::start().as_micros());
    let outbox = backend.open(&url, Some(clock.clone())).await.expect("open");
    let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 10);
    for sql in ["CREATE TABLE account (id INT PRIMARY KEY)", "INSERT INTO account VALUES (7)"] {
        outbox.connection().execute_unprepared(sql).await.expect("a row that stands for the key");
    }
    let [first, second] = [message(instance.queue(), "account-7"), message(instance.queue(), "account-7")];
    let sent = [first.id, second.id];
    let one = begin_with_the_row(&outbox).await;
    outbox.enqueue_on(&one, &[first]).await.expect("enqueue");
    clock.advance(Duration::from_secs(1));
    let (second_outbox, waits) = (outbox.clone(), oneshot::channel());
    let other = tokio::spawn(async move {
        waits.0.send(()).expect("a listener");
        let tx = begin_with_the_row(&second_outbox).await;
        second_outbox.enqueue_on(&tx, &[second]).await.expect("enqueue");
        tx.commit().await.expect("commit");
    });
    waits.1.await.expect("a beginning");
    instance.finds_nothing().await;
    assert!(!other.is_finished(), "no statement waited for the row");
    one.commit().await.expect("commit");
    other.await.expect("a transaction");
    for id in sent {
        let one = instance.take(9).await;
        assert_eq!(ids(&one), [id]);
        assert_eq!(instance.ack(&one[0]).await, Settled::Accepted);
    }
}

async fn begin_with_the_row(outbox: &SeaOrmOutbox) -> DatabaseTransaction {
    let tx = outbox.begin().await.expect("begin");
    tx.execute_unprepared("SELECT id FROM account WHERE id = 7 FOR UPDATE").await.expect("the row");
    tx
}
