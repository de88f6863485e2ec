//! What becomes of claims behind a lock when the lock fails: a holder killed, a holder paused past its time, a Redis
//! flushed and restarted under load. Claims stay correct, because the claim id decides; only time is lost.
//! Promise: a process that loses a distributed lock, is killed or is paused loses no message and settles
//! nothing twice

pub mod fences;
mod fleet;
mod holder;
mod paused;

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use claimstream::Compose;
use claimstream_domain::{MessageId, NewMessage, QueueName};
use claimstream_ports::{Observe, StoreErrorKind};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};

use self::{
    fleet::{Fleet, Reported},
    holder::QUEUE,
};
use crate::{
    PrivateRedis, Server, Suite, backend::SeaOrmBackend, redis_connection, servers::redis_url, suite::RUNTIME,
};

pub use self::holder::run_if_asked;

/// Adds the failures of locks, in the database and in a Redis, on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    let has_redis = redis_url(&environment).is_some();
    paused::add_to(suite, &environment);
    let sqlite = || SeaOrmBackend::sqlite("preemptive_update");
    suite.long("kills", |suite| add_load(suite, "sqlite", sqlite, has_redis));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let backend = move || SeaOrmBackend::server(server.name, &url, "preemptive_update");
        suite.long("kills", |suite| add_load(suite, server.name, backend, has_redis));
    }
}

fn add_load(
    suite: &mut Suite,
    store: &'static str,
    backend: impl Fn() -> SeaOrmBackend + Clone + Send + 'static,
    has_redis: bool,
) {
    let name = move |lock: &str, what: &str| format!("{store}::{lock}::guarded::{what}");
    let second = backend.clone();
    suite.add_long(
        "kills",
        &name("lock:db", "holders_killed_and_paused_under_load_cost_no_message"),
        move || RUNTIME.block_on(bears_failures(&name("lock:db", "load"), &second(), None)),
    );
    if has_redis {
        let what = "redis_flushed_and_restarted_and_holders_killed_and_paused_under_load_cost_no_message";
        suite.add_long("kills", &name("lock:redis", what), move || {
            let redis = Some(PrivateRedis::start());
            RUNTIME.block_on(bears_failures(&name("lock:redis", "load"), &backend(), redis));
        });
    }
}

const BATCHES: usize = 60;
const BATCH: usize = 10;
/// Between two batches, and between two looks at the instances.
const TICK: Duration = Duration::from_millis(50);
/// All must have been done by then, on a busy machine too.
const LATE: Duration = Duration::from_secs(90);

/// Three processes work while messages come, holders die and are paused past all their times, and Redis is flushed,
/// killed and started again.
async fn bears_failures(name: &str, backend: &SeaOrmBackend, redis: Option<PrivateRedis>) {
    let url = backend.database().await.expect("a database");
    let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
    let lock = redis.as_ref().map_or("database", |redis| redis.url());
    let began = Instant::now();
    let mut fleet = Fleet::start(&url, lock);
    let mut sent = Vec::new();
    for batch in 0..BATCHES {
        sent.extend(enqueue(&outbox, &mut fleet).await);
        fleet.look_after();
        match (batch, &redis) {
            (_, Some(redis)) if [10, 40].contains(&batch) => flush(redis).await,
            (20, Some(redis)) => redis.kill(),
            (30, Some(redis)) => redis.start_again(),
            (15 | 35 | 50, _) => fleet.kill_one(),
            (25, _) => fleet.pause_one(),
            _ => {}
        }
        tokio::time::sleep(TICK).await;
    }
    while depth(&outbox).await > 0 || fleet.has_paused() {
        assert!(began.elapsed() < LATE, "{} are left, {}", depth(&outbox).await, fleet.figures());
        fleet.look_after();
        tokio::time::sleep(TICK).await;
    }
    println!("{name}: {} messages in {:.1?}, {}", sent.len(), began.elapsed(), fleet.figures());
    assert!(fleet.died >= 3 && fleet.paused >= 2, "too little went wrong: {}", fleet.figures());
    check(&sent, &fleet.stop());
}

/// Nothing is lost, and of every message at most one settlement was accepted.
fn check(sent: &[MessageId], reported: &[Reported]) {
    let handled: HashSet<&MessageId> = reported.iter().filter_map(|reported| reported.handled()).collect();
    let lost: Vec<_> = sent.iter().filter(|id| !handled.contains(id)).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    let mut accepted: HashMap<&MessageId, usize> = HashMap::new();
    reported.iter().filter_map(Reported::accepted).for_each(|id| *accepted.entry(id).or_default() += 1);
    let doubled: Vec<_> = accepted.iter().filter(|(_, times)| **times > 1).collect();
    assert!(doubled.is_empty(), "accepted more than once: {doubled:?}");
    assert!(accepted.len() * 2 > sent.len(), "only {} acceptances were reported", accepted.len());
}

/// A producer that repeats what passes by itself, within reason: on SQLite a paused instance may have the one write lock.
async fn enqueue(outbox: &SeaOrmOutbox, fleet: &mut Fleet) -> Vec<MessageId> {
    let queue = QueueName::new(QUEUE).expect("a name");
    let messages: Vec<NewMessage> =
        (0..BATCH).map(|n| NewMessage::json(queue.clone(), &n).expect("a message")).collect();
    let began = Instant::now();
    while let Err(error) = outbox.enqueue_now(&messages).await {
        assert!(error.kind() == StoreErrorKind::Transient && began.elapsed() < LATE, "enqueue: {error}");
        fleet.look_after();
    }
    messages.iter().map(|message| message.id).collect()
}

async fn depth(outbox: &SeaOrmOutbox) -> u64 {
    let all = outbox.observe().await.expect("observe");
    assert!(all.iter().all(|queue| queue.dead == 0), "something was given up");
    all.iter().map(|queue| queue.depth).sum()
}

async fn flush(redis: &PrivateRedis) {
    let client = redis::Client::open(redis.url()).expect("a URL");
    let mut on = redis_connection(&client).await;
    redis::cmd("FLUSHALL").query_async::<()>(&mut on).await.expect("flush");
}
