//! What people may ask: progress, and messages page by page.
//! Promise: a request counts the answers of providers for its messages, in any order, repeated, late or
//! early, and reads only its own rows for it

use std::{slice::from_ref, time::Duration};

use claimstream_domain::notification::{
    Answer, DeliveryReceipt, DeliveryStatus, NotificationRecord, Progress, ReceiptCounts, ReceiptKind,
    ReceiptOf, ReceiptTaken, RequestStatus, provider::ProviderName,
};
use claimstream_ports::notification::{Cancelled, DeliveryAttempt};
use uuid::Uuid;

use super::{
    messages::{outcome, record},
    sample::{keep, progress, submitted},
};
use crate::{
    NotificationFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
    progress_counts_every_status needs [Store],
    progress_of_an_unknown_request_is_nothing needs [Store],
    progress_counts_what_providers_said_by_kind_and_judges_nothing_by_it,
    a_late_receipt_is_counted_wherever_its_message_stands,
    a_receipt_that_waits_is_counted_when_its_delivery_is_noted,
    messages_are_paged_by_id needs [Store],
    messages_of_another_request_are_left_out needs [Store],
    a_message_is_read_by_its_id needs [Store],
];

pub async fn progress_counts_every_status(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    use DeliveryStatus::{Delivered, Failed, Pending, Skipped};
    let all: Vec<_> = (1..=10).map(|n| record(request, n, if n > 6 { Skipped } else { Pending })).collect();
    keep(&fixture.store, &all).await;
    let outcomes: Vec<_> = all[..5]
        .iter()
        .enumerate()
        .map(|(n, r)| outcome(r.id, if n < 2 { Failed } else { Delivered }))
        .collect();
    fixture.store.messages.conclude(&outcomes).await.expect("conclude");
    keep(&fixture.store, &[record(submitted(&fixture).await, 99, Pending)]).await;
    let none = Progress::of(RequestStatus::Processing, None);
    let expected = Progress { pending: 1, delivered: 3, skipped: 4, failed: 2, ..none };
    assert_eq!(progress(&fixture, request).await, expected);
}

pub async fn progress_of_an_unknown_request_is_nothing(fixture: NotificationFixture) {
    assert_eq!(fixture.store.reports.progress(Uuid::now_v7()).await.expect("progress"), None);
}

pub async fn progress_counts_what_providers_said_by_kind_and_judges_nothing_by_it(
    fixture: NotificationFixture,
) {
    use ReceiptKind::{Bounced, Complained, Delivered, Opened, Sent};
    let (request, other) = (submitted(&fixture).await, submitted(&fixture).await);
    let all: Vec<_> = (1..=4).map(|n| record(request, n, DeliveryStatus::Pending)).collect();
    let foreign = record(other, 9, DeliveryStatus::Pending);
    keep(&fixture.store, &all).await;
    keep(&fixture.store, from_ref(&foreign)).await;
    let delivered: Vec<_> = all.iter().map(|one| outcome(one.id, DeliveryStatus::Delivered)).collect();
    fixture.store.messages.conclude(&delivered).await.expect("conclude");
    let before = progress(&fixture, request).await;
    assert!(before.receipts.is_empty());
    // One that bounced before it was said to have arrived, repeated; one that was opened before; one without a receipt.
    let said =
        [(0, Bounced), (0, Delivered), (1, Opened), (1, Sent), (1, Delivered), (2, Delivered), (0, Bounced)];
    let said: Vec<_> = said.into_iter().map(|(n, kind)| of_message(all[n].id, kind)).collect();
    fixture.store.receipts.take(&said).await.expect("take");
    fixture.rival.receipts.take(&said).await.expect("take again");
    fixture.store.receipts.take(&[of_message(foreign.id, Complained)]).await.expect("take");
    let after = progress(&fixture, request).await;
    assert_eq!(after.receipts, counts(&[(Sent, 1), (Delivered, 3), (Opened, 1), (Bounced, 1)]));
    assert_eq!(after, Progress { receipts: after.receipts, ..before }, "all else is as before");
    assert_eq!(progress(&fixture, other).await.receipts, counts(&[(Complained, 1)]));
}

pub async fn a_late_receipt_is_counted_wherever_its_message_stands(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let all: Vec<_> = (1..=3).map(|n| record(request, n, DeliveryStatus::Pending)).collect();
    keep(&fixture.store, &all).await;
    let given_up = outcome(all[0].id, DeliveryStatus::Failed);
    fixture.store.messages.conclude(&[given_up]).await.expect("conclude");
    let cancelled = fixture.store.requests.cancel(request).await.expect("cancel");
    assert!(matches!(cancelled, Cancelled::Yes(_)), "{cancelled:?}");
    // The provider had them in its hands all the same.
    let said: Vec<_> = all.iter().map(|one| of_message(one.id, ReceiptKind::Delivered)).collect();
    assert_eq!(fixture.rival.receipts.take(&said).await.expect("take"), [ReceiptTaken::New; 3]);
    let after = progress(&fixture, request).await;
    assert_eq!(after.receipts, counts(&[(ReceiptKind::Delivered, 3)]));
    assert_eq!((after.delivered, after.failed, after.cancelled), (0, 1, 2), "our own delivery is as it was");
}

pub async fn a_receipt_that_waits_is_counted_when_its_delivery_is_noted(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let message = record(request, 1, DeliveryStatus::Pending);
    keep(&fixture.store, from_ref(&message)).await;
    let of = ReceiptOf::Reference("sid-1".into());
    let early = DeliveryReceipt { of, ..of_message(message.id, ReceiptKind::SoftBounced) };
    assert_eq!(fixture.store.receipts.take(&[early]).await.expect("take"), [ReceiptTaken::Waiting]);
    assert!(progress(&fixture, request).await.receipts.is_empty());
    let attempt = DeliveryAttempt {
        message: message.id,
        claim: Uuid::now_v7(),
        call: 1,
        number: 1,
        provider: primary(),
        ago: Duration::ZERO,
        took: Duration::ZERO,
        answer: Answer::DELIVERED,
        reason: None,
        reference: Some("sid-1".into()),
    };
    fixture.store.attempts.note(&[attempt]).await.expect("note");
    let taken = fixture.rival.receipts.take_waiting(Duration::from_secs(60), 9).await.expect("take");
    assert_eq!(taken, 1);
    assert_eq!(progress(&fixture, request).await.receipts, counts(&[(ReceiptKind::SoftBounced, 1)]));
}

fn primary() -> ProviderName {
    ProviderName::new("primary").expect("a name")
}

fn of_message(id: Uuid, kind: ReceiptKind) -> DeliveryReceipt {
    let of = ReceiptOf::Message(id);
    DeliveryReceipt { provider: primary(), of, kind, channel: None, address: None, said_at: None, note: None }
}

fn counts(of: &[(ReceiptKind, u64)]) -> ReceiptCounts {
    let mut counts = ReceiptCounts::default();
    of.iter().for_each(|(kind, messages)| counts.count(*kind, *messages));
    counts
}

pub async fn messages_are_paged_by_id(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let mut all: Vec<_> = (1..=7).map(|n| record(request, n, DeliveryStatus::Pending)).collect();
    keep(&fixture.store, &all).await;
    all.sort_by_key(|record| record.id);
    let mut pages: Vec<Vec<NotificationRecord>> = Vec::new();
    for _ in 0..4 {
        let after = pages.last().and_then(|page| page.last()).map(|last| last.id);
        pages.push(fixture.rival.reports.messages(request, after, 3).await.expect("messages"));
    }
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1, 0]);
    assert_eq!(pages.concat(), all);
}

pub async fn messages_of_another_request_are_left_out(fixture: NotificationFixture) {
    let (one, other) = (submitted(&fixture).await, submitted(&fixture).await);
    let records = [record(one, 1, DeliveryStatus::Pending), record(other, 2, DeliveryStatus::Pending)];
    keep(&fixture.store, &records).await;
    assert_eq!(fixture.rival.reports.messages(one, None, 9).await.expect("messages"), records[..1]);
    assert_eq!(fixture.rival.reports.messages(other, None, 9).await.expect("messages"), records[1..]);
    assert_eq!(fixture.rival.reports.messages(Uuid::now_v7(), None, 9).await.expect("messages"), []);
}

pub async fn a_message_is_read_by_its_id(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let records: Vec<_> = (1..=2).map(|n| record(request, n, DeliveryStatus::Pending)).collect();
    keep(&fixture.store, &records).await;
    let read = async |id| fixture.rival.reports.record(id).await.expect("record");
    assert_eq!(read(records[1].id).await, Some(records[1].clone()));
    assert_eq!(read(request).await, None, "a request is no message");
}
