//! Promise: receipts are removed with their messages, and need one connection

use std::time::Duration;

use claimstream_domain::{
    Retention,
    notification::{
        Channel, DeliveryReceipt, DeliveryStatus, FanOutEnd, NotificationRecord, ReceiptKind, ReceiptOf,
        ReceiptTaken, RecipientReference, consent::Address,
    },
};
use claimstream_ports::{
    Transactions,
    notification::{
        DeliveryReceipts, FanOutStep, MessageOutcome, MessageRepository, NotificationReports,
        RequestRepository, Suppressions,
    },
};
use claimstream_sea_orm::{Dialect, statements};
use futures::future::join_all;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use uuid::Uuid;

use super::{Place, Setup};
use crate::{Suite, fixture::mail_to};

const DAY: Duration = Duration::from_secs(24 * 3600);

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let keep = Retention::default();
    place.add(suite, "auto", keep, "receipts_go_with_their_messages", receipts_go);
    if place.name == "sqlite" {
        place.add(suite, "auto", keep, "receipts_are_counted_along_indexes", are_counted_along_indexes);
    } else {
        place.add(suite, "auto", keep, "receipts_need_one_connection", need_one_connection);
    }
}

/// More messages than one transaction of a sweep takes.
async fn receipts_go(setup: Setup) {
    let (request, messages) = delivered(&setup, 1_200).await;
    let said: Vec<_> = messages.iter().map(|id| bounce(*id)).collect();
    let taken = setup.outbox.take(&said).await.expect("take");
    assert!(taken.iter().all(|taken| *taken == ReceiptTaken::New));
    let counted = setup.outbox.progress(request).await.expect("progress").expect("a request");
    assert_eq!(counted.receipts.of(ReceiptKind::Bounced), 1_200);
    setup.clock.advance(DAY + Setup::MOMENT);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("requests"), 1);
    assert_eq!(setup.count("SELECT COUNT(*) FROM claimstream_notification_receipt").await, 0);
    assert!(setup.outbox.lift(&Address::new(Channel::Email, "anna@example.com")).await.expect("lift"));
    let late = setup.outbox.take(&said[..1]).await.expect("a late one");
    assert_eq!(late, [ReceiptTaken::Unknown]);
    assert_eq!(setup.count("SELECT COUNT(*) FROM claimstream_suppression").await, 1);
    assert_eq!(setup.outbox.progress(request).await.expect("progress"), None);
    assert_eq!(setup.count("SELECT COUNT(*) FROM claimstream_notification_receipt").await, 0);
}

/// Even if the statistics say that there are few receipts of all requests.
async fn are_counted_along_indexes(setup: Setup) {
    let (request, messages) = delivered(&setup, 20).await;
    setup.outbox.take(&[bounce(messages[0])]).await.expect("take");
    let connection = setup.outbox.connection();
    connection.execute_unprepared("ANALYZE").await.expect("statistics");
    let sent = statements(Dialect::Sqlite);
    let (_, counts) =
        sent.iter().find(|(name, _)| *name == "notifications/request_counts").expect("a statement");
    let counts = counts.replace(":id", &format!("X'{}'", request.simple()));
    let plan = Statement::from_string(DbBackend::Sqlite, format!("EXPLAIN QUERY PLAN {counts}"));
    let rows = connection.query_all_raw(plan).await.expect("a plan");
    let steps: Vec<String> = rows.iter().map(|row| row.try_get("", "detail").expect("a step")).collect();
    let reads: Vec<_> =
        steps.iter().filter(|step| step.starts_with("SCAN") || step.starts_with("SEARCH")).collect();
    assert!(reads.len() == 3 && reads.iter().all(|step| step.starts_with("SEARCH")), "{steps:?}");
}

/// One of two connections is held by a caller the whole time.
async fn need_one_connection(setup: Setup) {
    let (_, messages) = delivered(&setup, 20).await;
    let few = setup.again(|options| options.max_connections = 2).await;
    let held = few.outbox.begin_tx().await.expect("begin");
    let said: Vec<_> = messages.iter().map(|id| [bounce(*id)]).collect();
    let calls = said.iter().chain(&said).map(|said| few.outbox.take(said));
    let taken: Vec<_> = join_all(calls).await.into_iter().map(|taken| taken.expect("take")[0]).collect();
    assert_eq!(taken.iter().filter(|taken| **taken == ReceiptTaken::New).count(), 20);
    few.outbox.commit_tx(held).await.expect("commit");
    assert_eq!(few.outbox.suppressed(None, 99).await.expect("suppressed").len(), 1);
}

fn bounce(message: Uuid) -> DeliveryReceipt {
    DeliveryReceipt {
        provider: "mail".parse().expect("a name"),
        of: ReceiptOf::Message(message),
        kind: ReceiptKind::Bounced,
        channel: Some(Channel::Email),
        address: Some("anna@example.com".into()),
        said_at: None,
        note: None,
    }
}

/// A request, and its messages that were delivered.
async fn delivered(setup: &Setup, count: u32) -> (Uuid, Vec<Uuid>) {
    let request = mail_to(RecipientReference::User { user: "anna".into() });
    setup.outbox.submit_now(std::slice::from_ref(&request)).await.expect("submit");
    let record = |n: u32| NotificationRecord {
        id: Uuid::now_v7(),
        request_id: request.id,
        channel: Channel::Email,
        recipient: format!("user:{n}"),
        status: DeliveryStatus::Pending,
        reason: None,
        reference: None,
    };
    let records: Vec<_> = (0..count).map(record).collect();
    let ids: Vec<Uuid> = records.iter().map(|record| record.id).collect();
    let step = FanOutStep {
        request: request.id,
        end: FanOutEnd::Done,
        takes_up: false,
        erased_places: 0,
        flaw: None,
        records,
        items: vec![],
    };
    setup.outbox.note_steps(&[step]).await.expect("a step");
    let (status, reason, reference) = (DeliveryStatus::Delivered, None, None);
    let outcomes: Vec<_> = ids
        .iter()
        .map(|id| MessageOutcome { id: *id, status, reason: reason.clone(), reference: reference.clone() })
        .collect();
    setup.outbox.conclude(&outcomes).await.expect("outcomes");
    (request.id, ids)
}
