//! Promise: callers cannot take the connections of claims, renewals, settlements, locks and sweeps; no call
//! holds one connection while it waits for another; a call that waits is not overtaken for long

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use claimstream::{Compose, PipelineReport, Relay, RelayConfig};
use claimstream_domain::{
    Disposition, Lease, NewMessage, Renewed, Settled, notification::NotificationRequest, step::StepResult,
};
use claimstream_ports::{
    DistributedLock, LockingStrategy, Observe, StoreErrorKind, notification::NotificationReports,
};
use claimstream_sea_orm::{Finding, OpenOptions, SeaOrmOutbox, Severity, Strategy};
use claimstream_steps::inbox::{Consumer, Inbox};
use claimstream_testbed::eventually;
use claimstream_tokio::TokioTimer;
use futures::{
    FutureExt,
    future::{join_all, try_join_all},
};
use sea_orm::{ConnectionTrait, DbBackend, Statement, TransactionTrait};
use uuid::Uuid;

use crate::{Fixture, Instance, LEASE, Ports, Server, Suite, backend::SeaOrmBackend, suite::RUNTIME};

const MESSAGES: usize = 80;
const UNREADABLE: usize = 8;

/// Adds it for every server that is here, with each strategy.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for strategy in [Strategy::PreemptiveUpdate, Strategy::ShardLease] {
        suite.add_async_test(&format!("sqlite::{strategy}::few_connections::{OWN_ONES}"), async move {
            callers_hold_all(&SeaOrmBackend::sqlite(strategy.name())).await;
        });
    }
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies().iter().copied() {
            let name = |what: &str| format!("{}::{strategy}::few_connections::{what}", server.name);
            let [plain, held, slow, refused, hurried, examined] = std::array::from_fn(|_| url.clone());
            // Guard: the doctor's second connection is outside the pool |
            // adapters/sea-orm/src/doctor/connections.rs: another one of the pool
            suite.add_async_test(&name("doctor_examines_a_process_that_uses_half_of_two"), async move {
                examined_in_use(&SeaOrmBackend::server(server.name, &examined, strategy.name())).await;
            });
            // Guard: a claim returns its connection before it takes another |
            // adapters/sea-orm/src/strategy/rows/claim.rs: no `rest`; the same in read.rs
            suite.add_async_test(&name("two_are_enough_for_many"), async move {
                are_enough_for_many(&SeaOrmBackend::server(server.name, &plain, strategy.name())).await;
            });
            suite.add_async_test(&name(OWN_ONES), async move {
                callers_hold_all(&SeaOrmBackend::server(server.name, &held, strategy.name())).await;
            });
            if strategy == Strategy::ShardLease {
                let used_up = url.clone();
                let what = "a_long_wait_for_a_connection_is_no_outage_of_the_server";
                suite.add_long("latency", &name(what), move || {
                    let backend = SeaOrmBackend::server(server.name, &used_up, strategy.name());
                    RUNTIME.block_on(waits_for_long(&backend));
                });
            }
            // Guard: a refused lock returns its connection before it reads the row |
            // adapters/sea-orm/src/locks/rows.rs `looked_at`: no `rest`
            suite.add_async_test(
                &name("a_lock_that_is_refused_is_asked_about_with_empty_hands"),
                async move {
                    asks_with_empty_hands(&SeaOrmBackend::server(server.name, &refused, strategy.name()))
                        .await;
                },
            );
            // Guard: no connection is cached while a caller waits for one |
            // adapters/sea-orm/src/database/held.rs `find`: no caller is `wanted`; connection_cache.rs
            // `keep`: `used_up` ignored
            suite.add_async_test(
                &name("a_caller_that_waits_at_the_pool_is_not_passed_for_long"),
                async move {
                    takes_turns_at_the_pool(&SeaOrmBackend::server(server.name, &hurried, strategy.name()))
                        .await;
                },
            );
            let what = "handlers_that_outlast_their_leases_and_outnumber_connections_have_each_message_once";
            suite.add_long("latency", &name(what), move || {
                let backend = SeaOrmBackend::server(server.name, &slow, strategy.name());
                RUNTIME.block_on(handlers_take_turns(&backend));
            });
        }
    }
}

// Guard: callers have a pool of their own | adapters/sea-orm/src/database/mod.rs `callers`: the relay's
// connections
// Guard: a timeout on callers' connections names the setting | adapters/sea-orm/src/database/retries.rs
// `restarting_beside`: the error as it is
const OWN_ONES: &str = "whatever_callers_hold_claims_renewals_and_settlements_go_on";

/// Every connection that callers can have is in the hands of one.
async fn callers_hold_all(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let outbox = opened(&url, few(backend)).await;
    let queue = Fixture::fresh_queue();
    let messages: Vec<_> = (0..3).map(|n| NewMessage::json(queue.clone(), &n).expect("a message")).collect();
    outbox.enqueue_now(&messages).await.expect("enqueue");
    let instance = Instance::new(1, Ports::of(outbox.clone()), queue.clone(), 5);
    let early = instance.take_one().await;
    let hold = || try_join_all((0..CALLERS).map(|_| outbox.connection().begin()));
    // The first of them may have to connect within the short wait.
    let held = match hold().await {
        Err(_) => hold().await.expect("all connections"),
        held => held.expect("all connections"),
    };
    let Renewed::Extended(early) = instance.renew(&early.receipt, LEASE).await else { panic!("not renewed") };
    let late = instance.take(1).await.remove(0);
    let done = || Disposition::Done { emit: vec![] };
    assert_eq!(instance.settle(&early, done()).await, Settled::Accepted);
    assert_eq!(instance.settle(&late.receipt, done()).await, Settled::Accepted);
    assert_eq!(instance.status().await.map(|status| status.depth), Some(1));
    let lease = Lease::new(LEASE).expect("a lease");
    let lock = outbox.try_acquire("a lock", lease).await.expect("an answer").expect("a free lock");
    assert!(DistributedLock::renew(&outbox, &lock, lease).await.expect("an answer"));
    assert!(outbox.release(lock).await.expect("an answer"));
    outbox.release_read_ahead(&queue).await.expect("released");
    outbox.sweep().await.expect("sweep");
    let (request, more) = (request(), NewMessage::json(queue.clone(), &7).expect("a message"));
    let (begun, enqueued, submitted, asked) = tokio::join!(
        outbox.begin().map(|done| done.map(drop)),
        outbox.enqueue_now(std::slice::from_ref(&more)).map(|done| done.map(drop)),
        outbox.submit_now(std::slice::from_ref(&request)).map(|done| done.map(drop)),
        outbox.progress(request.id).map(|done| done.map(drop)),
    );
    for none in [begun, enqueued, submitted, asked] {
        let none = none.expect_err("one more than there are");
        assert_eq!(none.kind(), StoreErrorKind::Transient, "{none}");
        let expected = "all 2 connections for callers were in use for 2s; raise max_connections";
        assert!(none.to_string().contains(expected), "{none}");
    }
    drop(held);
}

/// Longer than a stuck test runs.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// A server that takes no writes refuses to take a lock. What became of it is asked on a connection of the pool, which has one
/// left: the one that the attempt was made on.
async fn asks_with_empty_hands(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let options = OpenOptions { relay_connections: 2, acquire_timeout: FOR_EVER, ..backend.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let trigger = "CREATE TRIGGER refused BEFORE INSERT ON claimstream_lock FOR EACH ROW \
                   SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT = 'running with --read-only'";
    outbox.connection().execute_unprepared(trigger).await.expect("a trigger");
    let busy = outbox.relay_connection().begin().await.expect("all but one");
    let lease = Lease::new(LEASE).expect("a lease");
    let refused = outbox.try_acquire("a lock", lease).await.expect_err("nothing can be written");
    assert_eq!(refused.kind(), StoreErrorKind::Unavailable, "{refused}");
    assert!(refused.to_string().contains("read-only"), "{refused}");
    // Had it held a connection and waited for another, it would wait still.
    drop(busy);
}

/// All connections of the outbox's own are in use. A claim waits for one as long as it was configured to, and says so.
async fn waits_for_long(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let timeout = Duration::from_secs(22);
    let options = OpenOptions { relay_connections: 2, acquire_timeout: timeout, ..backend.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let instance = Instance::new(1, Ports::of(outbox.clone()), Fixture::fresh_queue(), 1);
    let all = try_join_all((0..2).map(|_| outbox.relay_connection().begin())).await.expect("all of them");
    let begun = Instant::now();
    let refused = outbox.claim(&instance.request(1, LEASE)).await.expect_err("there is no connection");
    let took = begun.elapsed();
    assert!(took >= timeout, "given up after {took:?}: {refused}");
    assert_eq!(refused.kind(), StoreErrorKind::Unavailable, "{refused}");
    drop(all);
    assert!(outbox.claim(&instance.request(1, LEASE)).await.expect("an answer").is_empty());
}

/// Twice as many hurry from one call to the next as there are connections, and each gets about as much done; so does a call
/// that asks the pool itself.
async fn takes_turns_at_the_pool(backend: &SeaOrmBackend) {
    const POOL: u32 = 4;
    const LOOKS: u32 = 100;
    let url = backend.database().await.expect("a database");
    let outbox = SeaOrmOutbox::open(&url, OpenOptions { relay_connections: POOL, ..backend.options() });
    let outbox = outbox.await.expect("open");
    let lease = Lease::new(LEASE).expect("a lease");
    let (is_over, all) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let hurries = (0..2 * POOL).map(|n| {
        let (outbox, is_over, all) = (outbox.clone(), is_over.clone(), all.clone());
        tokio::spawn(async move {
            let mut count = 0_u32;
            while !is_over.load(Ordering::SeqCst) {
                outbox.try_acquire(&format!("lock {n}"), lease).await.expect("an answer");
                all.fetch_add(1, Ordering::SeqCst);
                count += 1;
            }
            count
        })
    });
    let hurries: Vec<_> = hurries.collect();
    // A caller that is passed over waits until the test is stuck.
    let mut passed_by = 0;
    for _ in 0..LOOKS {
        let before = all.load(Ordering::SeqCst);
        outbox.observe().await.expect("an answer");
        passed_by = passed_by.max(all.load(Ordering::SeqCst) - before);
    }
    eventually("as many calls of the others", || async { all.load(Ordering::SeqCst) >= 2 * POOL * LOOKS })
        .await;
    is_over.store(true, Ordering::SeqCst);
    let done: Vec<_> = join_all(hurries).await.into_iter().map(|done| done.expect("no panic")).collect();
    eprintln!("calls: {done:?}; {LOOKS} through the pool, one of them passed by {passed_by} others");
    let (fewest, most) = (done.iter().min().copied(), done.iter().max().copied());
    assert!(fewest.unwrap_or_default() * 5 > most.unwrap_or_default(), "some were passed by: {done:?}");
    assert!(passed_by < 1000, "a call through the pool was passed by {passed_by} others");
}

fn request() -> NotificationRequest {
    let request = serde_json::json!({
        "id": Uuid::now_v7(),
        "requester": {"type": "service", "id": "shop"},
        "recipients": [{"user": "anna"}],
        "channels": ["email"],
        "content": {"title": "Hello", "body": "there"},
    });
    serde_json::from_value(request).expect("a request")
}

/// The doctor holds no connection while it waits for another, so that it may look at a process that is busy.
async fn examined_in_use(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let options = OpenOptions { relay_connections: 2, acquire_timeout: FOR_EVER, ..few(backend) };
    let outbox = opened(&url, options).await;
    let held = [outbox.connection(), outbox.relay_connection()];
    let held = try_join_all(held.map(|pool| pool.begin())).await.expect("one of each");
    for examined in join_all([outbox.doctor(), outbox.doctor()]).await {
        let failures: Vec<_> = examined.expect("findings").into_iter().filter(is_failure).collect();
        assert!(failures.is_empty(), "{failures:?}");
    }
    drop(held);
}

fn is_failure(finding: &Finding) -> bool {
    finding.severity == Severity::Failure
}

/// As few connections for callers as an outbox takes, and a short wait for one.
fn few(backend: &SeaOrmBackend) -> OpenOptions {
    OpenOptions { max_connections: CALLERS, acquire_timeout: Duration::from_secs(2), ..backend.options() }
}

/// Tries more than once: the first connection has to come within the short wait, too.
async fn opened(url: &str, options: OpenOptions) -> SeaOrmOutbox {
    for _ in 0..4 {
        if let Ok(outbox) = SeaOrmOutbox::open(url, options.clone()).await {
            return outbox;
        }
    }
    SeaOrmOutbox::open(url, options).await.expect("open")
}

/// As many as callers can have at a time.
const CALLERS: u32 = 2;
/// More than that.
const HANDLERS: u32 = 6;

/// Handlers that keep their transactions for longer than a lease have each message once, though most wait for a connection.
async fn handlers_take_turns(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let outbox = Arc::new(opened(&url, few(backend)).await);
    let queue = Fixture::fresh_queue();
    let messages: Vec<_> =
        (0..HANDLERS).map(|n| NewMessage::json(queue.clone(), &n).expect("a message")).collect();
    outbox.enqueue_now(&messages).await.expect("enqueue");
    let config = RelayConfig {
        // Long enough for a machine that is busy with other things.
        lease: Lease::new(Duration::from_secs(6)).expect("a lease"),
        batch: HANDLERS,
        prefetch: HANDLERS,
        concurrency: HANDLERS,
        ..RelayConfig::default()
    };
    let (begun, ended) = <(Arc<AtomicU32>, Arc<AtomicU32>)>::default();
    let (begins, ends) = (begun.clone(), ended.clone());
    let consumer = Consumer::new("slow").expect("a consumer");
    let inbox = Inbox::new(outbox.clone(), &config).expect("an inbox");
    let slow = inbox.handler(consumer, TokioTimer::new(), move |_, _| {
        let (begins, ends) = (begins.clone(), ends.clone());
        Box::pin(async move {
            begins.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(7)).await;
            ends.fetch_add(1, Ordering::Relaxed);
            Ok(StepResult::default())
        })
    });
    let relay = Relay::new(outbox.clone(), TokioTimer::new(), config);
    let all = async {
        eventually("all handlers have ended", || async { ended.load(Ordering::Relaxed) >= HANDLERS }).await;
    };
    let report = relay.pipeline(queue, slow).expect("a pipeline").run_until(all).await.expect("a report");
    let had = u64::from(HANDLERS);
    assert_eq!(begun.load(Ordering::Relaxed), HANDLERS, "effects begun; {report:?}");
    assert_eq!(report, PipelineReport { claimed: had, acked: had, ..PipelineReport::default() });
}

/// Many claim, bury what cannot be read, renew and settle, all at a time.
async fn are_enough_for_many(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let options = OpenOptions { max_connections: 2, relay_connections: 2, ..backend.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let queue = Fixture::fresh_queue();
    let messages: Vec<_> =
        (0..MESSAGES).map(|n| NewMessage::json(queue.clone(), &n).expect("a message")).collect();
    outbox.enqueue_now(&messages).await.expect("enqueue");
    for message in messages.iter().step_by(MESSAGES / UNREADABLE) {
        spoil(&outbox, message).await;
    }
    let ports = Ports::of(outbox);
    let instances: Vec<_> = (1..=6).map(|id| Instance::new(id, ports.clone(), queue.clone(), 3)).collect();
    let settled = join_all(instances.iter().map(works_off)).await;
    assert_eq!(settled.iter().sum::<usize>(), MESSAGES - UNREADABLE);
    let left = instances[0].status().await.map(|status| (status.depth, status.dead));
    assert_eq!(left, Some((0, UNREADABLE as u64)));
}

/// Five at a time; answers how many.
async fn works_off(instance: &Instance) -> usize {
    let mut settled = 0;
    loop {
        let claimed = instance.take(5).await;
        if claimed.is_empty() {
            return settled;
        }
        for claimed in &claimed {
            let renewed = instance.renew(&claimed.receipt, LEASE).await;
            let Renewed::Extended(receipt) = renewed else { panic!("{renewed:?}") };
            let done = Disposition::Done { emit: vec![] };
            assert_eq!(instance.settle(&receipt, done).await, Settled::Accepted);
        }
        settled += claimed.len();
    }
}

async fn spoil(outbox: &SeaOrmOutbox, message: &NewMessage) {
    let sql = "UPDATE claimstream_message SET headers = 'no JSON' WHERE id = ?";
    let id = message.id.uuid().as_bytes().to_vec();
    let spoiling = Statement::from_sql_and_values(DbBackend::MySql, sql, [id.into()]);
    assert_eq!(outbox.connection().execute_raw(spoiling).await.expect("an update").rows_affected(), 1);
}
