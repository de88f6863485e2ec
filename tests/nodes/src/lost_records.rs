//! Promise: after a takeover without the last commits, no notification request stays open for ever

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{Lease, Pacing, Relay, RelayConfig};
use claimstream_domain::notification::{
    Channel, DirectRecipient, NotificationMessage, NotificationRequest, RecipientReference, RequestStatus,
};
use claimstream_memory::{MemoryDirectory, MemoryTemplates};
use claimstream_notifications::{
    MESSAGE_QUEUE, MessageConfig, MessageHandler, Providers, REQUEST_QUEUE, RequestConfig, RequestHandler,
};
use claimstream_ports::notification::{ChannelProvider, Delivered, DeliveryError, NotificationReports};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::{Cluster, ClusterKind, Forwarder, ScratchDatabase};
use claimstream_tokio::TokioTimer;
use futures::future::join_all;
use sea_orm::{ConnectionTrait, Database, DbBackend, Statement};
use tokio::sync::watch;
use uuid::Uuid;

use super::course::aside;
use crate::{Suite, fixture::mail_to};

/// Adds what becomes of notification requests when a replica takes over that lacks the last commits.
pub(super) fn add_to(suite: &mut Suite, kind: ClusterKind) {
    let name =
        format!("{}::clusters::no_request_is_pending_for_ever_after_a_takeover_that_lost_commits", kind.name);
    suite.add_async_test(&name, async move {
        let cluster = tokio::task::spawn_blocking(move || Cluster::start(kind)).await.expect("a cluster");
        no_request_is_pending(Arc::new(cluster)).await;
    });
}

const STRATEGIES: [&str; 3] = ["skip_locked", "preemptive_update", "shard_lease"];
const RELAYS: usize = 3;
/// How many requests are handed in by one call.
const TOGETHER: usize = 4;
/// So many requests of each strategy are a test.
const ENOUGH: usize = 50;

async fn no_request_is_pending(cluster: Arc<Cluster>) {
    let forwarder = Forwarder::to(cluster.url(1)).await.expect("a port");
    let (over, is_over) = watch::channel(Stage::Submitting);
    let counts: [Arc<AtomicUsize>; STRATEGIES.len()] = Default::default();
    let runs = STRATEGIES.into_iter().zip(counts.clone()).map(|(strategy, count)| {
        let (source, replica) = (cluster.url(1).to_owned(), cluster.url(2).to_owned());
        let place = forwarder.url().to_owned();
        tokio::spawn(run(strategy, source, place, replica, is_over.clone(), count))
    });
    let runs: Vec<_> = runs.collect();
    tokio::time::sleep(Duration::from_secs(4)).await;
    are_submitted(&counts, &[ENOUGH; STRATEGIES.len()]).await;
    aside(Cluster::lose, &cluster).await;
    // More than may have been on their way.
    let some = counts.each_ref().map(|count| count.load(Ordering::Relaxed) + 2 * TOGETHER);
    tokio::time::sleep(Duration::from_secs(2)).await;
    are_submitted(&counts, &some).await;
    aside(|cluster| cluster.kill(1), &cluster).await;
    cluster.promote().await.expect("the replica takes over");
    forwarder.lead_to(cluster.url(2));
    tokio::time::sleep(Duration::from_secs(3)).await;
    over.send_replace(Stage::Draining);
    let all: Vec<Left> = join_all(runs).await.into_iter().map(|left| left.expect("a run")).collect();
    println!("requests: {all:?}");
    for left in all {
        assert!(left.submitted > ENOUGH && left.known < left.submitted, "{left:?}: nothing was lost");
        assert_eq!(left.open, 0, "{left:?}");
    }
}

/// Waits until each strategy has submitted more than so many.
async fn are_submitted(counts: &[Arc<AtomicUsize>], so_many: &[usize]) {
    for _ in 0..600 {
        if counts.iter().zip(so_many).all(|(count, least)| count.load(Ordering::Relaxed) > *least) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Submitting,
    Draining,
}

/// What is left of the requests of a strategy.
#[derive(Debug)]
#[allow(dead_code, reason = "it is shown")]
struct Left {
    strategy: &'static str,
    submitted: usize,
    /// Those that the replica has.
    known: usize,
    /// Those of them that have not come to an end, though nothing is in the queues.
    open: usize,
}

async fn run(
    strategy: &'static str,
    source: String,
    place: String,
    replica: String,
    mut stage: watch::Receiver<Stage>,
    count: Arc<AtomicUsize>,
) -> Left {
    let name = format!("requests_{strategy}");
    let database = ScratchDatabase::create(&source, &name).await.expect("a database");
    let place = place.replace("/claimstream?", &format!("/{name}?"));
    let replica = replica.replace("/claimstream?", &format!("/{name}?"));
    let options = OpenOptions {
        strategy: strategy.parse().expect("a strategy"),
        acquire_timeout: Duration::from_secs(2),
        ..OpenOptions::default()
    };
    let (stop, stopped) = watch::channel(false);
    let mut relays = Vec::new();
    for _ in 0..RELAYS {
        let outbox = SeaOrmOutbox::open(&place, options.clone()).await.expect("open");
        relays.push(tokio::spawn(relay(Arc::new(outbox), stopped.clone())));
    }
    let outbox = SeaOrmOutbox::open(&place, options).await.expect("open");
    let mut submitted: Vec<Uuid> = Vec::new();
    while *stage.borrow_and_update() == Stage::Submitting {
        let some: Vec<_> = (0..TOGETHER).map(|_| request()).collect();
        let taken = outbox.submit_now(&some);
        if let Ok(Ok(_)) = tokio::time::timeout(Duration::from_secs(3), taken).await {
            submitted.extend(some.iter().map(|request| request.id));
            count.fetch_add(TOGETHER, Ordering::Relaxed);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let db = Database::connect(&replica).await.expect("the replica");
    for _ in 0..300 {
        let count = Statement::from_string(DbBackend::MySql, "SELECT COUNT(*) FROM claimstream_queue");
        let row = db.query_one_raw(count).await.expect("a count").expect("a row");
        if row.try_get_by_index::<i64>(0).expect("a number") == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let _ = stop.send(true);
    for relay in relays {
        relay.await.expect("a relay");
    }
    let mut left = Left { strategy, submitted: submitted.len(), known: 0, open: 0 };
    for request in submitted {
        let Some(progress) = outbox.progress(request).await.expect("progress") else { continue };
        left.known += 1;
        left.open += usize::from(progress.recorded != RequestStatus::Dispatched || progress.delivered != 1);
    }
    std::mem::forget(database);
    left
}

fn request() -> NotificationRequest {
    let ann = DirectRecipient { email: Some("ann@example.com".into()), ..DirectRecipient::default() };
    mail_to(RecipientReference::Direct(ann))
}

async fn relay(outbox: Arc<SeaOrmOutbox>, stopped: watch::Receiver<bool>) {
    let (directory, templates) = (Arc::new(MemoryDirectory::new()), Arc::new(MemoryTemplates::new("en")));
    let fan_out =
        RequestHandler::new(outbox.clone(), outbox.clone(), directory, templates, RequestConfig::default())
            .expect("a handler");
    let providers = Providers::new().with(Channel::Email, Arc::new(Post));
    let deliveries =
        MessageHandler::new(outbox.clone(), providers, MessageConfig::default()).expect("a handler");
    let wait = Duration::from_millis(100);
    let config = RelayConfig {
        lease: Lease::new(Duration::from_secs(4)).expect("a lease"),
        pacing: Pacing { idle_min: Duration::from_millis(5), idle_max: wait },
        ..RelayConfig::default()
    };
    let relay = Relay::new(outbox, TokioTimer::new(), config);
    let until_stopped = || {
        let mut stopped = stopped.clone();
        async move {
            let _ = stopped.wait_for(|stopped| *stopped).await;
        }
    };
    let ran = futures::join!(
        relay.batch_pipeline(REQUEST_QUEUE, fan_out).expect("a pipeline").run_until(until_stopped()),
        relay.batch_pipeline(MESSAGE_QUEUE, deliveries).expect("a pipeline").run_until(until_stopped()),
    );
    drop(ran);
}

/// Takes everything.
struct Post;

#[async_trait]
impl ChannelProvider for Post {
    async fn deliver(&self, _: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        Ok(Delivered::default())
    }
}
