//! A sweep is considerate: it waits while the server is under load, and delays no writer.
//! Promise: a sweep waits while history is long or replicas are behind, and no producer waits for a sweep

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{DedupKey, Enqueued, LoadLimit, Retention};
use claimstream_ports::{Enqueue, StoreError};
use claimstream_sea_orm::{LagGauge, Swept};
use claimstream_testbed::eventually;
use sea_orm::{ConnectionTrait, Database, IsolationLevel, Statement, TransactionTrait};
use tokio::{sync::mpsc, task::JoinHandle};
use uuid::Uuid;

use super::{Place, Setup, backend, hex, keep};
use crate::{Suite, fixture::Wire};

/// Several chunks.
const FINISHED: u64 = 300;

/// What a gauge tells of, wherever the database is.
pub(super) fn add_lag_to(suite: &mut Suite, place: &Place) {
    place.add(suite, "auto", keep(), "a_sweep_waits_for_replicas", waits_for_replicas);
}

/// What takes a server.
pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    place.add(suite, "auto", keep(), "a_sweep_waits_while_the_history_is_long", waits_for_history);
    let what = "a_sweep_that_may_not_see_the_history_goes_on";
    place.add(suite, "auto", keep(), what, goes_on_without_sight);
    place.add(suite, "auto", keep(), "a_producer_never_waits_for_a_sweep", holds_up_no_producer);
    let what = "a_sweep_of_dedup_keys_waits_for_no_producer";
    place.add(suite, "auto", keep(), what, sweeps_keys_while_a_body_is_locked);
    let what = "the_key_of_a_message_that_is_enqueued_again_meanwhile_stays";
    place.add(suite, "auto", keep(), what, keeps_the_key_of_what_is_enqueued_meanwhile);
}

/// A replica's lag in seconds, and word of every look at it.
struct Replica {
    lag: Arc<AtomicU64>,
    looks: mpsc::UnboundedReceiver<()>,
}

impl Replica {
    fn behind(seconds: u64) -> (Self, LagGauge) {
        let (lag, (tell, looks)) = (Arc::new(AtomicU64::new(seconds)), mpsc::unbounded_channel());
        let behind = Arc::clone(&lag);
        let gauge = LagGauge::new(move || {
            // The send fails once the test is over.
            let _ = tell.send(());
            Some(Duration::from_secs(behind.load(Ordering::SeqCst)))
        });
        (Self { lag, looks }, gauge)
    }

    /// Two looks in a row: what was seen at the first has waited.
    async fn looked_at_twice(&mut self, sweeping: &mut Sweeping) {
        for _ in 0..2 {
            tokio::select! {
                _ = self.looks.recv() => {}
                swept = &mut *sweeping => panic!("it did not wait: {swept:?}"),
            }
        }
    }
}

/// Messages that were finished so long ago that nothing of them is kept.
async fn finished_long_ago(setup: &Setup) {
    // Ids of long ago, with room between them.
    let messages: Vec<_> = (1..=FINISHED).map(|n| setup.of_id(id(n))).collect();
    setup.enqueue(&messages).await;
    setup.finish_all().await;
    setup.clock.advance(Retention::SHORTEST + Duration::from_secs(1));
}

fn id(n: u64) -> Uuid {
    Uuid::from_u128(u128::from(n) * 1000)
}

type Sweeping = JoinHandle<Result<Swept, StoreError>>;

fn sweep(setup: &Setup) -> Sweeping {
    let outbox = setup.outbox.clone();
    tokio::spawn(async move { outbox.sweep().await })
}

async fn swept(sweeping: Sweeping) -> u64 {
    sweeping.await.expect("no panic").expect("sweep").bodies
}

async fn waits_for_replicas(setup: Setup) {
    finished_long_ago(&setup).await;
    let (mut replica, gauge) = Replica::behind(11);
    let setup = setup.again(|options| options.lag = Some(gauge)).await;
    let mut sweeping = sweep(&setup);
    replica.looked_at_twice(&mut sweeping).await;
    assert_eq!(setup.bodies().await, FINISHED as i64);
    replica.lag.store(10, Ordering::SeqCst);
    assert_eq!(swept(sweeping).await, FINISHED);
}

/// A snapshot elsewhere keeps the server from removing what was changed since: one entry for each change. When the server removes it then is its
/// own affair, and other tests make history too, so another sweep shows that the limit alone was waited for.
async fn waits_for_history(setup: Setup) {
    const CHANGES: u64 = 600;
    finished_long_ago(&setup).await;
    let other = Database::connect(&setup.url).await.expect("connect");
    let snapshot = other.begin_with_config(Some(IsolationLevel::RepeatableRead), None).await.expect("begin");
    number(&snapshot, "SELECT COUNT(*) FROM claimstream_message").await;
    for n in 0..CHANGES {
        let change = format!("UPDATE claimstream_message SET shard = {} WHERE id = {}", n % 2, hex(id(1)));
        other.execute_unprepared(&change).await.expect("a change");
    }
    let (mut replica, gauge) = Replica::behind(0);
    let limit = LoadLimit { history: CHANGES / 2, ..LoadLimit::default() };
    let limited = setup.again(|options| (options.strain_limit, options.lag) = (limit, Some(gauge))).await;
    let mut sweeping = sweep(&limited);
    replica.looked_at_twice(&mut sweeping).await;
    assert_eq!(setup.bodies().await, FINISHED as i64);
    snapshot.rollback().await.expect("rollback");
    let unlimited = LoadLimit { history: u64::MAX, ..LoadLimit::default() };
    let unlimited = setup.again(|options| options.strain_limit = unlimited).await;
    unlimited.outbox.sweep().await.expect("sweep");
    assert_eq!(setup.bodies().await, 0);
}

async fn number(on: &impl ConnectionTrait, sql: &str) -> i64 {
    let row = on.query_one_raw(Statement::from_string(backend(on), sql)).await.expect("an answer");
    row.expect("a row").try_get_by_index(0).expect("a number")
}

async fn goes_on_without_sight(setup: Setup) {
    finished_long_ago(&setup).await;
    let database = setup.url.rsplit('/').next().and_then(|rest| rest.split('?').next()).expect("a database");
    let user = format!("u{}", &Uuid::now_v7().simple().to_string()[16..]);
    setup.execute(&format!("CREATE USER {user}@'%'")).await;
    setup.execute(&format!("GRANT ALL ON {database}.* TO {user}@'%'")).await;
    let url = setup.url.replacen("root@", &format!("{user}@"), 1);
    let unprivileged = setup.at_url(url, |options| options.strain_limit.history = 0).await;
    let swept = unprivileged.outbox.sweep().await;
    setup.execute(&format!("DROP USER {user}@'%'")).await;
    assert_eq!(swept.expect("sweep").bodies, FINISHED);
}

/// In the middle of a chunk, with rows locked on both sides of what is enqueued.
async fn holds_up_no_producer(setup: Setup) {
    finished_long_ago(&setup).await;
    let other = Database::connect(&setup.url).await.expect("connect");
    let obstacle = other.begin().await.expect("begin");
    let lock = |n| format!("SELECT id FROM claimstream_message WHERE id = {} FOR UPDATE", hex(id(n)));
    number_of_rows(&obstacle, &lock(50)).await;
    let producer = setup.again(|_| {}).await;
    let wire = Wire::to(&setup.url).await.expect("a port");
    let sweeping = sweep(&setup.at_url(wire.url.clone(), |_| {}).await);
    let first = format!("{} NOWAIT", lock(1));
    eventually("the sweep has locked the first row", || async {
        other.execute_unprepared(&first).await.is_err()
    })
    .await;
    let newcomers: Vec<_> = (0..60).map(|n| producer.of_id(Uuid::from_u128(n * 1000 + 500))).collect();
    producer.outbox.enqueue_now(&newcomers).await.expect("enqueue");
    assert_eq!(wire.commands.lock_timeouts(), 0, "the producer waited until the sweep waited no more");
    assert!(!sweeping.is_finished());
    obstacle.rollback().await.expect("rollback");
    assert_eq!(swept(sweeping).await, FINISHED);
    assert_eq!(setup.instance.take_all().await.len(), newcomers.len());
}

/// An enqueue has written a body and not yet its dedup key, of an id that was in use under a key before.
///
/// Guard: a sweep of dedup keys locks no body | adapters/sea-orm/src/sql/sweep/left.sql: `FOR UPDATE`
async fn sweeps_keys_while_a_body_is_locked(setup: Setup) {
    finished_with_keys_long_ago(&setup, &["once"]).await;
    let producer = setup.again(|_| {}).await;
    let transaction = producer.outbox.begin().await.expect("begin");
    producer.outbox.enqueue(&transaction, &[producer.of_id(id(1))]).await.expect("enqueue");
    assert_eq!(setup.outbox.sweep().await.expect("sweep").dedup_keys, 1);
    producer.outbox.commit(transaction).await.expect("commit");
    assert_eq!(setup.instance.take_all().await.len(), 1);
}

/// The message of a key is enqueued again, and is not committed when the sweep meets its key.
///
/// Guard: a key is forgotten if its message has no body once the key is locked | adapters/sea-orm/src/sweep/dedup_keys.rs `forget_keys`: `stored` is empty
async fn keeps_the_key_of_what_is_enqueued_meanwhile(setup: Setup) {
    finished_with_keys_long_ago(&setup, &["a", "b", "c"]).await;
    let producer = setup.again(|_| {}).await;
    let again = producer.of_id(id(2)).unique_by(DedupKey::new("b").expect("a key"));
    let transaction = producer.outbox.begin().await.expect("begin");
    producer.outbox.enqueue(&transaction, &[again]).await.expect("enqueue");
    let wire = Wire::to(&setup.url).await.expect("a port");
    let sweeping = sweep(&setup.at_url(wire.url.clone(), |_| {}).await);
    let other = Database::connect(&setup.url).await.expect("connect");
    let first = "SELECT message_id FROM claimstream_dedup WHERE dedup_key = 'a' FOR UPDATE NOWAIT";
    eventually("the sweep has locked the first key", || async {
        other.execute_unprepared(first).await.is_err()
    })
    .await;
    producer.outbox.commit(transaction).await.expect("commit");
    assert_eq!(sweeping.await.expect("no panic").expect("sweep").dedup_keys, 2);
    let other = producer.of_id(id(9)).unique_by(DedupKey::new("b").expect("a key"));
    assert_eq!(producer.outbox.enqueue_now(&[other]).await.expect("enqueue"), [Enqueued::Duplicate]);
}

/// Their bodies are gone.
async fn finished_with_keys_long_ago(setup: &Setup, keys: &[&str]) {
    let key = |key: &str| DedupKey::new(key).expect("a key");
    let messages: Vec<_> = (1..).zip(keys).map(|(n, name)| setup.of_id(id(n)).unique_by(key(name))).collect();
    setup.enqueue(&messages).await;
    setup.finish_all().await;
    setup.clock.advance(Retention::SHORTEST * 48);
    setup.execute("DELETE FROM claimstream_message").await;
}

async fn number_of_rows(on: &impl ConnectionTrait, sql: &str) -> usize {
    on.query_all_raw(Statement::from_string(backend(on), sql)).await.expect("rows").len()
}
