//! Repairs of what a failover has left, one after another, while relays claim and settle the same requests, and with errors in their middle.
//! Promise: a repair loses nothing and sends nothing twice while relays work and its own commits go
//! unanswered

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{
    QueueName, RetryPolicy, Settlement, decide,
    notification::{
        Channel, MESSAGE_QUEUE, NotificationRequest, REQUEST_QUEUE, Recipient, RecipientReference, message_id,
    },
};
use claimstream_ports::{Handler, StoreError, StoreErrorKind};
use claimstream_sea_orm::{FailoverRemains, SeaOrmOutbox};
use claimstream_testbed::eventually;
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use super::hex;
use crate::{
    Instance, LEASE, Ports, Server, Suite,
    backend::SeaOrmBackend,
    fixture::{Deliveries, Wire, fan_out_to, mail_to},
};

/// Adds it for each server that is here.
pub(super) fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in ["auto", "shard_lease"] {
            let url = url.clone();
            // Guard: a repair enqueues no message that is in its queue |
            // adapters/sea-orm/src/sql/remains/requeue.sql: no `q.id IS NULL`
            let what =
                "a_repair_during_relays_loses_nothing_and_sends_nothing_twice_whatever_breaks_in_its_middle";
            suite.add_async_test(&format!("{}::upkeep::{strategy}::{what}", server.name), async move {
                sends_each_once(&SeaOrmBackend::server(server.name, &url, strategy)).await;
            });
        }
    }
}

const REQUESTS: usize = 40;

/// Half of the requests have lost their first step. The answers to commits of the repairs are lost again and again, and nothing has to be quiet
/// to be taken for left.
async fn sends_each_once(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let outbox = SeaOrmOutbox::open(&url, backend.options()).await.expect("open");
    let wire = Wire::to(&url).await.expect("a port");
    let repairer = SeaOrmOutbox::open(&wire.url, backend.options()).await.expect("open");
    let requests: Vec<NotificationRequest> = (0..REQUESTS).map(|_| request()).collect();
    outbox.submit_now(&requests).await.expect("submit");
    let lost: Vec<String> = requests.iter().step_by(2).map(|request| hex(request.id)).collect();
    let lose = format!("DELETE FROM claimstream_queue WHERE id IN ({})", lost.join(", "));
    outbox.connection().execute_unprepared(&lose).await.expect("a loss");

    let (mail, stale, is_over) = (Deliveries::default(), stale(&requests), AtomicBool::new(false));
    let all_are_delivered = async {
        let delivered = "SELECT COUNT(*) FROM claimstream_notification_message WHERE status = 'DELIVERED'";
        let all = async || count(&outbox, delivered).await >= REQUESTS as i64;
        eventually("all are delivered", all).await;
        is_over.store(true, Ordering::SeqCst);
    };
    let (cut, _, _) = futures::join!(
        repair_again_and_again(&repairer, &wire, &stale, &is_over),
        futures::future::join(relay(&outbox, 8, &mail, &is_over), relay(&outbox, 9, &mail, &is_over)),
        all_are_delivered,
    );
    assert!(cut > 0, "no commit of a repair was cut");
    // What repairs have queued of what was done meanwhile.
    is_over.store(false, Ordering::SeqCst);
    let queued = async {
        let empty = async || count(&outbox, "SELECT COUNT(*) FROM claimstream_queue").await == 0;
        eventually("the queues are empty", empty).await;
        is_over.store(true, Ordering::SeqCst);
    };
    futures::future::join(relay(&outbox, 10, &mail, &is_over), queued).await;
    assert_eq!(outbox.failover_remains(Duration::ZERO).await.expect("a look"), FailoverRemains::default());
    let times: Vec<usize> = requests.iter().map(|request| mail.of(request.id).len()).collect();
    assert!(times.iter().all(|times| *times == 1), "{times:?}");
}

/// An old look at what is left: it names all of these requests, though relays have some in hand and have ended others.
fn stale(requests: &[NotificationRequest]) -> FailoverRemains {
    let message =
        |request: &NotificationRequest| message_id(request.id, Channel::Email, &Recipient::user("anna").key);
    FailoverRemains {
        requests: requests.iter().map(|request| request.id).collect(),
        messages: requests.iter().map(message).collect(),
        ..FailoverRemains::default()
    }
}

/// Repairs what a look finds, or what a stale one has found; answers how many of its commits were cut.
async fn repair_again_and_again(
    outbox: &SeaOrmOutbox,
    wire: &Wire,
    stale: &FailoverRemains,
    is_over: &AtomicBool,
) -> usize {
    let mut cut = 0;
    for round in 0.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        wire.cut_after_commit.store(round % 2 == 0, Ordering::SeqCst);
        let repaired = async {
            let found = match round % 3 {
                2 => stale.clone(),
                _ => outbox.failover_remains(Duration::ZERO).await?,
            };
            outbox.repair_failover_remains(&found).await
        };
        match repaired.await {
            Ok(_) => {}
            Err(error) if may_pass(&error) => {}
            Err(error) => panic!("{error}"),
        }
        cut += usize::from(round % 2 == 0 && !wire.cut_after_commit.load(Ordering::SeqCst));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    wire.cut_after_commit.store(false, Ordering::SeqCst);
    cut
}

/// Fans out and delivers until it is over.
async fn relay(outbox: &SeaOrmOutbox, number: u64, mail: &Deliveries, is_over: &AtomicBool) {
    let store = Arc::new(outbox.clone());
    let steps = fan_out_to("anna", store.clone(), store.clone());
    let deliveries = mail.handler(store);
    let of = |number, queue| {
        let queue = QueueName::new(queue).expect("a queue");
        Instance::new(number, Ports::of(outbox.clone()), queue, 10)
    };
    let (requests, messages) = (of(number, REQUEST_QUEUE), of(number + 100, MESSAGE_QUEUE));
    while !is_over.load(Ordering::SeqCst) {
        handle_some(&requests, &steps).await;
        handle_some(&messages, &deliveries).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn handle_some(instance: &Instance, handler: &dyn Handler) {
    let claimed = match instance.ports.claiming.claim(&instance.request(5, LEASE)).await {
        Err(error) if may_pass(&error) => return,
        claimed => claimed.expect("a claim"),
    };
    for claimed in claimed {
        let disposition = decide(handler.handle(&claimed).await, 1, &RetryPolicy::default(), 0);
        let settlement = [Settlement { receipt: claimed.receipt.clone(), disposition }];
        while let Err(error) = instance.ports.settlements.settle(&settlement).await {
            assert!(may_pass(&error), "{error}");
        }
    }
}

fn may_pass(error: &StoreError) -> bool {
    matches!(error.kind(), StoreErrorKind::Transient | StoreErrorKind::Unavailable)
}

fn request() -> NotificationRequest {
    mail_to(RecipientReference::User { user: "anna".into() })
}

async fn count(outbox: &SeaOrmOutbox, sql: &str) -> i64 {
    let asked = Statement::from_string(DbBackend::MySql, sql);
    let row = outbox.connection().query_one_raw(asked).await.expect(sql).expect("a row");
    row.try_get_by_index(0).expect("a number")
}
