//! An outbox with few connections: no claim holds one while it waits for another, and whatever callers hold, claims, renewals
//! and settlements have their own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use claimstream::{
    Compose, PipelineReport, Relay, RelayConfig,
    inbox::{Consumer, Inbox},
};
use claimstream_domain::{Disposition, Lease, NewMessage, Renewed, Settled, StepResult};
use claimstream_ports::{DistributedLock, LockingStrategy, StoreErrorKind};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::future::{join_all, try_join_all};
use sea_orm::{ConnectionTrait, DbBackend, Statement, TransactionTrait};

use crate::{Instance, LEASE, Ports, Server, Stage, Suite, venue::SeaOrmVenue};

const MESSAGES: usize = 80;
const UNREADABLE: usize = 8;

/// Adds it for every server that is here, with each strategy.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for strategy in ["preemptive_update", "shard_lease"] {
        suite.add_async_trial(&format!("sqlite::{strategy}::few_connections::{OWN_ONES}"), async move {
            callers_hold_all(&SeaOrmVenue::sqlite(strategy)).await;
        });
    }
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in ["preemptive_update", "skip_locked", "shard_lease"] {
            if !server.strategies().contains(&strategy) {
                continue;
            }
            let name = |what: &str| format!("{}::{strategy}::few_connections::{what}", server.name);
            let (url, held, slow) = (url.clone(), url.clone(), url.clone());
            suite.add_async_trial(&name("two_are_enough_for_many"), async move {
                are_enough_for_many(&SeaOrmVenue::server(server.name, &url, strategy)).await;
            });
            suite.add_async_trial(&name(OWN_ONES), async move {
                callers_hold_all(&SeaOrmVenue::server(server.name, &held, strategy)).await;
            });
            suite.add_async_trial(
                &name("handlers_that_outlast_their_leases_and_outnumber_connections_have_each_message_once"),
                async move {
                    handlers_take_turns(&SeaOrmVenue::server(server.name, &slow, strategy)).await;
                },
            );
        }
    }
}

const OWN_ONES: &str = "whatever_callers_hold_claims_renewals_and_settlements_go_on";

/// Every connection that callers can have is in the hands of one.
async fn callers_hold_all(venue: &SeaOrmVenue) {
    let url = venue.fresh_database().await.expect("a database");
    let outbox = SeaOrmOutbox::open(&url, few(venue)).await.expect("open");
    let queue = Stage::fresh_queue();
    let messages: Vec<_> = (0..3).map(|n| NewMessage::json(queue.clone(), &n).expect("a message")).collect();
    outbox.enqueue_now(&messages).await.expect("enqueue");
    let instance = Instance::new(1, Ports::of(outbox.clone()), queue.clone(), 5);
    let early = instance.take_one().await;
    let held =
        try_join_all((0..CALLERS).map(|_| outbox.connection().begin())).await.expect("all connections");
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
    outbox.rest(&queue).await.expect("rest");
    outbox.sweep().await.expect("sweep");
    let begun = outbox.begin().await.expect_err("one more than there are");
    assert_eq!(begun.kind(), StoreErrorKind::Transient, "{begun}");
    assert!(begun.to_string().contains("max_connections"), "{begun}");
    drop(held);
}

/// As few connections for callers as an outbox takes, and a short wait for one.
fn few(venue: &SeaOrmVenue) -> OpenOptions {
    OpenOptions { max_connections: CALLERS, acquire_timeout: Duration::from_secs(2), ..venue.options() }
}

/// As many as callers can have at a time.
const CALLERS: u32 = 2;
/// More than that.
const HANDLERS: u32 = 6;

/// Handlers that keep their transactions for longer than a lease have each message once, though most wait for a connection.
async fn handlers_take_turns(venue: &SeaOrmVenue) {
    let url = venue.fresh_database().await.expect("a database");
    let outbox = Arc::new(SeaOrmOutbox::open(&url, few(venue)).await.expect("open"));
    let queue = Stage::fresh_queue();
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
        for _ in 0..2000 {
            if ended.load(Ordering::Relaxed) >= HANDLERS {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let report = relay.pipeline(queue, slow).expect("a pipeline").run_until(all).await.expect("a report");
    let had = u64::from(HANDLERS);
    assert_eq!(begun.load(Ordering::Relaxed), HANDLERS, "effects begun; {report:?}");
    assert_eq!(report, PipelineReport { claimed: had, acked: had, ..PipelineReport::default() });
}

/// Many claim, bury what cannot be read, renew and settle, all at a time.
async fn are_enough_for_many(venue: &SeaOrmVenue) {
    let url = venue.fresh_database().await.expect("a database");
    let options = OpenOptions { max_connections: 2, relay_connections: 2, ..venue.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let queue = Stage::fresh_queue();
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
