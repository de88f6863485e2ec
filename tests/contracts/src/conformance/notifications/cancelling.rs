//! Requests that are called off: what has not been delivered is taken back, at every point of their way.
//! Promise: cancelling stops what is not delivered, at every step of a request, and a delivery that comes
//! later is recorded

use std::time::Duration;

use claimstream_domain::notification::{
    DeliveryStatus, FanOutEnd, NotificationRequest, RequestStatus, Submitted::New,
};
use claimstream_ports::notification::{Cancelled, CancelledMessages};
use uuid::Uuid;

use super::{
    messages::{outcome, record},
    requests::finished,
    sample::{keep, note, plain_request, progress, step, submitted},
};
use crate::{
    NotificationFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
    a1_7_a_scheduled_request_that_is_cancelled_leaves_the_outbox_and_sends_nothing,
    a1_7_a_scheduled_request_comes_due_at_its_time_and_not_before,
    a_request_that_is_due_is_cancelled_and_its_outbox_message_stays_to_be_acked,
    a_request_that_is_being_fanned_out_is_cancelled_and_keeps_no_more_records needs [Store],
    a_dispatched_request_is_cancelled_as_far_as_it_is_not_delivered needs [Store],
    a_failed_message_of_a_cancelled_request_is_reopened_as_cancelled needs [Store],
    of_reopen_and_cancel_at_a_time_neither_leaves_a_message_pending needs [Store],
    a_message_that_was_taken_back_and_delivered_all_the_same_is_delivered needs [Store],
    a_request_with_nothing_left_to_take_back_is_not_cancelled needs [Store],
    a_request_is_cancelled_twice_with_the_same_end needs [Store],
    many_messages_are_all_taken_back needs [Store],
    an_unknown_request_is_not_cancelled needs [Store],
    of_a_step_and_cancel_at_a_time_one_wins_or_both_are_seen needs [Store],
];

use DeliveryStatus::{Delivered, Failed, Pending, Skipped};

pub async fn a1_7_a_scheduled_request_that_is_cancelled_leaves_the_outbox_and_sends_nothing(
    fixture: NotificationFixture,
) {
    let scheduled_at = Some(fixture.outbox.moment(60_000_000));
    let scheduled = NotificationRequest { scheduled_at, ..plain_request(1) };
    let delayed = NotificationRequest { delay_ms: Some(60_000), ..plain_request(2) };
    let other = NotificationRequest { delay_ms: Some(60_000), ..plain_request(3) };
    let all = [scheduled.clone(), delayed.clone(), other.clone()];
    assert_eq!(fixture.store.submit(&all).await, [New, New, New]);
    fixture.outbox.advance(Duration::from_secs(30)).await;
    for request in [scheduled, delayed] {
        let cancelled = fixture.rival.requests.cancel(request.id).await.expect("cancel");
        assert_eq!(cancelled, Cancelled::Yes(CancelledMessages::default()));
        assert_eq!(progress(&fixture, request.id).await.status(), RequestStatus::Cancelled);
    }
    assert_eq!(fixture.outbox.store.status().await.map(|status| status.depth), Some(1), "the other one");
    fixture.outbox.advance(Duration::from_secs(31)).await;
    let due = fixture.outbox.store.take_all().await;
    assert_eq!(due.iter().map(|claimed| claimed.message.id.uuid()).collect::<Vec<_>>(), [other.id]);
}

pub async fn a1_7_a_scheduled_request_comes_due_at_its_time_and_not_before(fixture: NotificationFixture) {
    let scheduled_at = Some(fixture.outbox.moment(60_000_000));
    fixture.store.submit(&[NotificationRequest { scheduled_at, ..plain_request(1) }]).await;
    fixture.outbox.advance(Duration::from_secs(59)).await;
    fixture.outbox.store.finds_nothing().await;
    fixture.outbox.advance(Duration::from_secs(1)).await;
    assert_eq!(fixture.outbox.store.take_all().await.len(), 1);
}

pub async fn a_request_that_is_due_is_cancelled_and_its_outbox_message_stays_to_be_acked(
    fixture: NotificationFixture,
) {
    let request = submitted(&fixture).await;
    let cancelled = fixture.rival.requests.cancel(request).await.expect("cancel");
    assert_eq!(cancelled, Cancelled::Yes(CancelledMessages::default()));
    assert_eq!(fixture.outbox.store.take_all().await.len(), 1);
}

pub async fn a_request_that_is_being_fanned_out_is_cancelled_and_keeps_no_more_records(
    fixture: NotificationFixture,
) {
    let request = submitted(&fixture).await;
    let all: Vec<_> = (1..=4).map(|n| record(request, n, if n == 4 { Skipped } else { Pending })).collect();
    keep(&fixture.store, &all).await;
    fixture.store.messages.conclude(&[outcome(all[0].id, Delivered)]).await.expect("conclude");
    let cancelled = fixture.rival.requests.cancel(request).await.expect("cancel");
    let taken_back = CancelledMessages { messages: 2, delivered: 1, in_hands: 0 };
    assert_eq!(cancelled, Cancelled::Yes(taken_back));
    let next = note(&fixture.store, step(request, FanOutEnd::Done, &[record(request, 9, Pending)])).await;
    assert_eq!((next.status, next.records), (Some(RequestStatus::Cancelled), vec![]));
    let after = progress(&fixture, request).await;
    assert_eq!((after.pending, after.delivered, after.skipped, after.cancelled), (0, 1, 1, 2));
    assert_eq!(after.status(), RequestStatus::Cancelled);
}

pub async fn a_dispatched_request_is_cancelled_as_far_as_it_is_not_delivered(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let all: Vec<_> = (1..=5).map(|n| record(request, n, Pending)).collect();
    note(&fixture.store, step(request, FanOutEnd::Done, &all)).await;
    let ends = [outcome(all[0].id, Delivered), outcome(all[1].id, Failed)];
    fixture.store.messages.conclude(&ends).await.expect("conclude");
    let other = submitted(&fixture).await;
    keep(&fixture.store, &[record(other, 6, Pending)]).await;
    let cancelled = fixture.rival.requests.cancel(request).await.expect("cancel");
    assert_eq!(cancelled, Cancelled::Yes(CancelledMessages { messages: 3, delivered: 1, in_hands: 0 }));
    let after = progress(&fixture, request).await;
    assert_eq!((after.recorded, after.status()), (RequestStatus::Cancelled, RequestStatus::Cancelled));
    assert_eq!((after.pending, after.delivered, after.failed, after.cancelled), (0, 1, 1, 3));
    let ids: Vec<Uuid> = all.iter().map(|record| record.id).collect();
    let status = fixture.store.messages.status(&ids).await.expect("status");
    let back = Some(DeliveryStatus::Cancelled);
    assert_eq!(status, [Some(Delivered), Some(Failed), back, back, back]);
    assert_eq!(progress(&fixture, other).await.pending, 1);
}

pub async fn a_failed_message_of_a_cancelled_request_is_reopened_as_cancelled(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let all: Vec<_> = (1..=2).map(|n| record(request, n, Pending)).collect();
    note(&fixture.store, step(request, FanOutEnd::Done, &all)).await;
    fixture.store.messages.conclude(&[outcome(all[0].id, Failed)]).await.expect("conclude");
    fixture.store.requests.cancel(request).await.expect("cancel");
    for _ in 0..2 {
        let reopened = fixture.rival.messages.reopen(all[0].id).await.expect("reopen");
        assert_eq!(reopened, Some(DeliveryStatus::Cancelled));
    }
    let record = fixture.store.reports.record(all[0].id).await.expect("record").expect("a record");
    let reason = record.reason.expect("a reason");
    assert!(reason.as_str().contains("request was cancelled"), "{reason}");
    let after = progress(&fixture, request).await;
    assert_eq!((after.pending, after.failed, after.cancelled), (0, 0, 2));
}

pub async fn of_reopen_and_cancel_at_a_time_neither_leaves_a_message_pending(fixture: NotificationFixture) {
    for _ in 0..20 {
        let request = submitted(&fixture).await;
        let all: Vec<_> = (1..=2).map(|n| record(request, n, Pending)).collect();
        note(&fixture.store, step(request, FanOutEnd::Done, &all)).await;
        fixture.store.messages.conclude(&[outcome(all[0].id, Failed)]).await.expect("conclude");
        let (messages, canceller) = (fixture.store.messages.clone(), fixture.rival.requests.clone());
        let revived = all[0].id;
        let reopened = tokio::spawn(async move { messages.reopen(revived).await });
        let cancelled = tokio::spawn(async move { canceller.cancel(request).await });
        reopened.await.expect("a reopening").expect("reopen");
        cancelled.await.expect("a cancelling").expect("cancel");
        let after = progress(&fixture, request).await;
        assert_eq!((after.pending, after.failed, after.cancelled), (0, 0, 2));
    }
}

pub async fn a_message_that_was_taken_back_and_delivered_all_the_same_is_delivered(
    fixture: NotificationFixture,
) {
    let request = submitted(&fixture).await;
    let all: Vec<_> = (1..=40).map(|n| record(request, n, Pending)).collect();
    note(&fixture.store, step(request, FanOutEnd::Done, &all)).await;
    fixture.store.requests.cancel(request).await.expect("cancel");
    let mut outcomes = vec![outcome(all[0].id, Delivered), outcome(all[1].id, Failed)];
    outcomes[0].reference = Some("of its own".into());
    outcomes.extend(all[2..30].iter().map(|record| outcome(record.id, Delivered)));
    fixture.rival.messages.conclude(&outcomes).await.expect("conclude");
    let after = progress(&fixture, request).await;
    assert_eq!((after.delivered, after.failed, after.cancelled), (29, 0, 11));
    assert_eq!(after.status(), RequestStatus::Cancelled);
}

pub async fn a_request_with_nothing_left_to_take_back_is_not_cancelled(fixture: NotificationFixture) {
    let failed = finished(&fixture, RequestStatus::Failed).await;
    let delivered = submitted(&fixture).await;
    let skipped = submitted(&fixture).await;
    let records = [record(delivered, 1, Pending), record(skipped, 2, Skipped)];
    for record in &records {
        note(&fixture.store, step(record.request_id, FanOutEnd::Done, std::slice::from_ref(record))).await;
    }
    fixture.store.messages.conclude(&[outcome(records[0].id, Delivered)]).await.expect("conclude");
    let late = [
        (failed, RequestStatus::Failed),
        (delivered, RequestStatus::Dispatched),
        (skipped, RequestStatus::Undeliverable),
    ];
    for (request, status) in late {
        let cancelled = fixture.rival.requests.cancel(request).await.expect("cancel");
        assert_eq!(cancelled, Cancelled::TooLate(status));
        assert_eq!(progress(&fixture, request).await.status(), status);
    }
}

pub async fn a_request_is_cancelled_twice_with_the_same_end(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    note(&fixture.store, step(request, FanOutEnd::Done, &[record(request, 1, Pending)])).await;
    for messages in [1, 0] {
        let cancelled = fixture.rival.requests.cancel(request).await.expect("cancel");
        assert_eq!(cancelled, Cancelled::Yes(CancelledMessages { messages, ..CancelledMessages::default() }));
        assert_eq!(progress(&fixture, request).await.cancelled, 1);
    }
}

pub async fn many_messages_are_all_taken_back(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let all: Vec<_> = (0..1203).map(|n| record(request, n, Pending)).collect();
    note(&fixture.store, step(request, FanOutEnd::Done, &all)).await;
    let cancelled = fixture.rival.requests.cancel(request).await.expect("cancel");
    assert_eq!(
        cancelled,
        Cancelled::Yes(CancelledMessages { messages: 1203, ..CancelledMessages::default() })
    );
    assert_eq!(progress(&fixture, request).await.cancelled, 1203);
}

pub async fn an_unknown_request_is_not_cancelled(fixture: NotificationFixture) {
    let cancelled = fixture.store.requests.cancel(Uuid::now_v7()).await.expect("cancel");
    assert_eq!(cancelled, Cancelled::Unknown);
}

pub async fn of_a_step_and_cancel_at_a_time_one_wins_or_both_are_seen(fixture: NotificationFixture) {
    for _ in 0..20 {
        let request = submitted(&fixture).await;
        let (requests, canceller) = (fixture.store.requests.clone(), fixture.rival.requests.clone());
        let last = [step(request, FanOutEnd::Done, &[record(request, 1, Pending)])];
        let noted = tokio::spawn(async move { requests.note_steps(&last).await });
        let cancelled = tokio::spawn(async move { canceller.cancel(request).await });
        let noted = noted.await.expect("a step").expect("note").remove(0);
        let cancelled = cancelled.await.expect("a cancelling").expect("cancel");
        let messages = match noted.status {
            Some(RequestStatus::Cancelled) => 0,
            status => {
                assert_eq!(status, Some(RequestStatus::Dispatched));
                1
            }
        };
        assert_eq!(cancelled, Cancelled::Yes(CancelledMessages { messages, ..CancelledMessages::default() }));
        let after = progress(&fixture, request).await;
        assert_eq!((after.status(), after.total()), (RequestStatus::Cancelled, messages));
        assert_eq!(after.cancelled, messages);
    }
}
