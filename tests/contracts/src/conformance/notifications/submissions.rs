//! How requests are handed in.
//! Promise: a repeated request is replayed, another one under its id is a conflict, and one that is being
//! submitted is an error within the lock wait

use std::time::Duration;

use claimstream_domain::notification::{
    Channel, FanOut, FanOutEnd, NotificationRequest, RequestStatus, Requester, RequesterKind,
    Submitted::{self, Conflict, New, Replayed},
    TemplateCall,
};
use claimstream_ports::{StoreErrorKind, notification::BeingTakenIn};
use futures::future::join_all;

use super::sample::{note, plain_request, progress, read, step};
use crate::{
    NotificationFixture, NotificationPorts,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
    a_submitted_request_is_pending_and_comes_back_as_it_was needs [Store],
    a_submitted_request_has_one_outbox_message_that_begins_its_fan_out,
    a_rolled_back_request_leaves_nothing,
    a1_8_a_request_that_is_handed_in_again_is_replayed_and_changes_nothing,
    a1_8_another_request_under_a_known_id_is_a_conflict_and_changes_nothing,
    a1_8_a_request_that_is_being_taken_in_is_answered_within_the_lock_wait needs [Store] over wire,
    a1_8_a_first_call_that_failed_may_be_repeated needs [Store],
    a_request_that_stands_twice_in_a_call_is_taken_once,
    of_many_parallel_submissions_of_one_request_one_is_new,
    submissions_of_the_same_requests_in_opposite_orders_all_get_through needs [Store],
    a_request_that_could_never_be_carried_out_is_refused,
    a_request_under_the_id_of_another_message_is_refused needs [Store],
    a_delayed_request_is_due_after_its_delay,
    a_scheduled_request_is_due_at_its_moment,
    requests_and_messages_share_a_transaction,
];

pub async fn a_submitted_request_is_pending_and_comes_back_as_it_was(fixture: NotificationFixture) {
    let (plain, templated) = (plain_request(1), templated_request(2));
    assert_eq!(fixture.store.submit(&[plain.clone(), templated.clone()]).await, [New, New]);
    for request in [plain, templated] {
        let progress = progress(&fixture, request.id).await;
        assert_eq!((progress.recorded, progress.total()), (RequestStatus::Pending, 0));
        assert_eq!(read(&fixture.rival, request.id).await.request, request);
    }
}

pub async fn a_submitted_request_has_one_outbox_message_that_begins_its_fan_out(
    fixture: NotificationFixture,
) {
    let request = plain_request(1);
    fixture.store.submit(std::slice::from_ref(&request)).await;
    let claimed = fixture.outbox.rival.take_all().await;
    assert_eq!(claimed.len(), 1);
    let payload = &claimed[0].message.payload;
    let fan_out: FanOut = serde_json::from_slice(payload.bytes()).expect("a fan-out");
    assert_eq!((fan_out, payload.content_type()), (FanOut::begin(request.id), "application/json"));
}

pub async fn a_rolled_back_request_leaves_nothing(fixture: NotificationFixture) {
    let request = plain_request(1);
    let tx = fixture.store.transactions.begin().await.expect("begin");
    assert_eq!(tx.submit(std::slice::from_ref(&request)).await.expect("submit"), [New]);
    tx.roll_back().await.expect("roll back");
    fixture.outbox.rival.finds_nothing().await;
    assert_eq!(fixture.rival.requests.read(&[request.id]).await.expect("read"), [None]);
    assert_eq!(fixture.rival.submit(&[request]).await, [New]);
}

pub async fn a1_8_a_request_that_is_handed_in_again_is_replayed_and_changes_nothing(
    fixture: NotificationFixture,
) {
    let first = plain_request(1);
    fixture.store.submit(std::slice::from_ref(&first)).await;
    note(&fixture.store, step(first.id, FanOutEnd::More, &[])).await;
    let mut traced = first.clone();
    let span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    traced.headers.set_trace(span, None).expect("a trace");
    for again in [first.clone(), traced] {
        assert_eq!(fixture.rival.submit(&[again, plain_request(3)]).await, [Replayed, New]);
    }
    let read = read(&fixture.rival, first.id).await;
    assert_eq!((read.request, read.status), (first, RequestStatus::Processing));
    assert_eq!(fixture.outbox.store.take_all().await.len(), 3);
}

pub async fn a1_8_another_request_under_a_known_id_is_a_conflict_and_changes_nothing(
    fixture: NotificationFixture,
) {
    let first = plain_request(1);
    let other = NotificationRequest { id: first.id, ..templated_request(2) };
    fixture.store.submit(std::slice::from_ref(&first)).await;
    let call = [other.clone(), plain_request(3), first.clone()];
    assert_eq!(fixture.rival.submit(&call).await, [Conflict, New, Replayed]);
    assert_eq!(read(&fixture.rival, first.id).await.request, first);
    let both = [plain_request(5), NotificationRequest { memo: None, ..plain_request(5) }];
    let both = [both[0].clone(), NotificationRequest { id: both[0].id, ..both[1].clone() }];
    assert_eq!(fixture.store.submit(&both).await, [New, Conflict]);
    assert_eq!(fixture.outbox.store.take_all().await.len(), 3);
}

pub async fn a1_8_a_request_that_is_being_taken_in_is_answered_within_the_lock_wait(
    fixture: NotificationFixture,
) {
    let request = plain_request(1);
    let open = fixture.store.transactions.begin().await.expect("begin");
    assert_eq!(open.submit(std::slice::from_ref(&request)).await.expect("submit"), [New]);
    // SQLite has one writer at a time, so the second one does not even begin.
    let error = match fixture.rival.transactions.begin().await {
        Err(error) => error,
        Ok(second) => {
            let error =
                second.submit(std::slice::from_ref(&request)).await.expect_err("it is being taken in");
            assert!(error.get_ref().is::<BeingTakenIn>(), "{error}");
            error
        }
    };
    assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
    let waits = fixture.outbox.lock_timeouts();
    assert!(waits <= 1, "it waited {waits} times");
    open.commit().await.expect("commit");
    assert_eq!(fixture.rival.submit(&[request]).await, [Replayed]);
}

pub async fn a1_8_a_first_call_that_failed_may_be_repeated(fixture: NotificationFixture) {
    let request = plain_request(1);
    let tx = fixture.store.transactions.begin().await.expect("begin");
    tx.submit(std::slice::from_ref(&request)).await.expect("submit");
    tx.roll_back().await.expect("roll back");
    assert_eq!(fixture.rival.submit(std::slice::from_ref(&request)).await, [New]);
    assert_eq!(fixture.store.submit(&[request]).await, [Replayed]);
}

pub async fn a_request_that_stands_twice_in_a_call_is_taken_once(fixture: NotificationFixture) {
    let request = plain_request(1);
    let call = [request.clone(), request.clone(), plain_request(2)];
    assert_eq!(fixture.store.submit(&call).await, [New, Replayed, New]);
    assert_eq!(fixture.outbox.store.take_all().await.len(), 2);
}

pub async fn of_many_parallel_submissions_of_one_request_one_is_new(fixture: NotificationFixture) {
    let request = plain_request(1);
    let submissions = (0..6).map(|n| {
        let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
        let (side, request) = (side.clone(), request.clone());
        tokio::spawn(async move { submit_until_answered(&side, request).await })
    });
    let answers: Vec<_> = join_all(submissions).await.into_iter().map(|a| a.expect("a submission")).collect();
    assert_eq!(answers.iter().filter(|answer| **answer == New).count(), 1, "{answers:?}");
    assert_eq!(fixture.outbox.store.take_all().await.len(), 1);
}

pub async fn submissions_of_the_same_requests_in_opposite_orders_all_get_through(
    fixture: NotificationFixture,
) {
    for _ in 0..10 {
        let requests: Vec<_> = (0..40).map(plain_request).collect();
        let submissions = (0..4).map(|n| {
            let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
            let (side, mut requests) = (side.clone(), requests.clone());
            if n % 2 == 0 {
                requests.reverse();
            }
            tokio::spawn(async move { side.submit(&requests).await })
        });
        let answers = join_all(submissions).await.into_iter().flat_map(|a| a.expect("no deadlock"));
        assert_eq!(answers.filter(|answer| *answer == New).count(), 40);
    }
}

pub async fn a_request_that_could_never_be_carried_out_is_refused(fixture: NotificationFixture) {
    let good = plain_request(1);
    let bad = NotificationRequest { recipients: vec![], ..plain_request(2) };
    let tx = fixture.store.transactions.begin().await.expect("begin");
    let error = tx.submit(&[good.clone(), bad]).await.expect_err("no recipient");
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    tx.commit().await.expect("commit");
    fixture.outbox.store.finds_nothing().await;
    assert_eq!(fixture.rival.submit(&[good]).await, [New]);
}

pub async fn a_request_under_the_id_of_another_message_is_refused(fixture: NotificationFixture) {
    let message = fixture.outbox.message();
    let request = NotificationRequest { id: message.id.uuid(), ..plain_request(1) };
    let tx = fixture.store.transactions.begin().await.expect("begin");
    tx.enqueue(&[message]).await.expect("enqueue");
    tx.commit().await.expect("commit");
    let tx = fixture.rival.transactions.begin().await.expect("begin");
    let error = tx.submit(std::slice::from_ref(&request)).await.expect_err("it would never begin");
    assert_eq!(error.kind(), StoreErrorKind::Conflict, "{error}");
    tx.roll_back().await.expect("roll back");
    assert_eq!(fixture.rival.requests.read(&[request.id]).await.expect("read"), [None]);
}

pub async fn a_delayed_request_is_due_after_its_delay(fixture: NotificationFixture) {
    let request = NotificationRequest { delay_ms: Some(60_000), ..plain_request(1) };
    fixture.store.submit(&[request]).await;
    fixture.outbox.advance(Duration::from_micros(59_999_999)).await;
    fixture.outbox.store.finds_nothing().await;
    fixture.outbox.advance(Duration::from_micros(1)).await;
    fixture.outbox.rival.take_one().await;
}

pub async fn a_scheduled_request_is_due_at_its_moment(fixture: NotificationFixture) {
    let moment = fixture.outbox.moment(60_000_000);
    let request = NotificationRequest { scheduled_at: Some(moment), ..plain_request(1) };
    fixture.store.submit(std::slice::from_ref(&request)).await;
    fixture.outbox.advance(Duration::from_micros(59_999_999)).await;
    fixture.outbox.store.finds_nothing().await;
    fixture.outbox.advance(Duration::from_micros(1)).await;
    fixture.outbox.rival.take_one().await;
    assert_eq!(read(&fixture.rival, request.id).await.request.scheduled_at, Some(moment));
}

pub async fn requests_and_messages_share_a_transaction(fixture: NotificationFixture) {
    for commit in [false, true] {
        let tx = fixture.store.transactions.begin().await.expect("begin");
        tx.submit(&[plain_request(1)]).await.expect("submit");
        tx.enqueue(&[fixture.outbox.message()]).await.expect("enqueue");
        if commit {
            tx.commit().await.expect("commit");
        } else {
            tx.roll_back().await.expect("roll back");
        }
        let expected = if commit { 2 } else { 0 };
        assert_eq!(fixture.outbox.rival.take_all().await.len(), expected);
    }
}

async fn submit_until_answered(side: &NotificationPorts, request: NotificationRequest) -> Submitted {
    loop {
        let tx = side.transactions.begin().await.expect("begin");
        let answer = match tx.submit(std::slice::from_ref(&request)).await {
            Ok(answers) => tx.commit().await.map(|()| answers[0]),
            Err(error) => Err(error),
        };
        match answer {
            Ok(answer) => return answer,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
}

fn templated_request(n: u32) -> NotificationRequest {
    let params = [("name".to_owned(), format!("value {n}"))].into();
    NotificationRequest {
        requester: Requester { kind: RequesterKind::Admin, id: format!("admin-{n}") },
        channels: vec![Channel::Sms],
        content: None,
        template: Some(TemplateCall { id: format!("template-{n}"), params }),
        memo: None,
        ..plain_request(n)
    }
}
