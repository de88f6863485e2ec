use std::time::Duration;

use claimstream_domain::{
    Enqueued::{self, Duplicate, New},
    Reason,
    notification::{
        Channel, Content, DeliveryStatus, DirectRecipient, FanOut, NotificationRecord, NotificationRequest,
        Progress, RecipientReference, RequestStatus, Requester, RequesterKind, TemplateCall, message_id,
    },
};
use claimstream_ports::{
    StoreErrorKind,
    notification::{Cancelled, MessageOutcome},
};
use futures::future::join_all;
use uuid::Uuid;

use crate::suite::{Case, cases};
use crate::{NotificationFixture, NotificationPorts};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
    a_submitted_request_is_pending_and_comes_back_as_it_was,
    a_submitted_request_has_one_outbox_message_that_begins_its_fan_out,
    a_rolled_back_request_leaves_nothing,
    a_request_that_is_handed_in_again_is_a_duplicate_and_changes_nothing,
    a_request_that_stands_twice_in_a_call_is_taken_once,
    of_many_parallel_submissions_of_one_request_one_is_new,
    a_request_that_could_never_be_carried_out_is_refused,
    a_delayed_request_is_due_after_its_delay,
    a_scheduled_request_is_due_at_its_moment,
    requests_and_messages_share_a_transaction,
    open_marks_a_pending_request_and_answers_the_status_after_the_mark,
    a_request_that_is_opened_again_is_still_being_processed,
    an_unknown_request_is_not_opened,
    open_leaves_a_finished_request_as_it_is,
    close_marks_a_request_dispatched,
    close_with_a_reason_marks_a_request_failed,
    close_leaves_a_request_that_is_not_being_processed_as_it_is,
    reopen_takes_up_a_failed_request_and_no_other,
    only_a_pending_request_is_cancelled,
    an_unknown_request_is_not_cancelled,
    of_open_and_cancel_at_a_time_one_wins,
    a_record_is_kept_once_and_left_as_it_is,
    records_are_answered_in_order_with_where_they_stand,
    where_messages_stand_is_answered_in_order,
    only_a_pending_message_is_concluded,
    a_concluded_failure_keeps_its_reason,
    reopen_makes_a_failed_message_pending_and_no_other,
    progress_counts_every_status,
    progress_of_an_unknown_request_is_nothing,
    messages_are_paged_by_id,
    messages_of_another_request_are_left_out,
];

pub async fn a_submitted_request_is_pending_and_comes_back_as_it_was(fixture: NotificationFixture) {
    let (plain, templated) = (plain_request(1), templated_request(2));
    assert_eq!(fixture.store.submit(&[plain.clone(), templated.clone()]).await, [New, New]);
    for request in [plain, templated] {
        let progress = progress(&fixture, request.id).await;
        assert_eq!((progress.recorded, progress.total()), (RequestStatus::Pending, 0));
        let opened = fixture.rival.requests.open(request.id).await.expect("open").expect("a request");
        assert_eq!(opened.request, request);
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
    assert_eq!(fixture.rival.requests.open(request.id).await.expect("open"), None);
    assert_eq!(fixture.rival.submit(&[request]).await, [New]);
}

pub async fn a_request_that_is_handed_in_again_is_a_duplicate_and_changes_nothing(
    fixture: NotificationFixture,
) {
    let first = plain_request(1);
    let again = NotificationRequest { id: first.id, ..templated_request(2) };
    fixture.store.submit(std::slice::from_ref(&first)).await;
    fixture.store.requests.open(first.id).await.expect("open");
    assert_eq!(fixture.rival.submit(&[again, plain_request(3)]).await, [Duplicate, New]);
    let opened = fixture.rival.requests.open(first.id).await.expect("open").expect("a request");
    assert_eq!((opened.request, opened.status), (first, RequestStatus::Processing));
    assert_eq!(fixture.outbox.store.take_all().await.len(), 2);
}

pub async fn a_request_that_stands_twice_in_a_call_is_taken_once(fixture: NotificationFixture) {
    let request = plain_request(1);
    let call = [request.clone(), request.clone(), plain_request(2)];
    assert_eq!(fixture.store.submit(&call).await, [New, Duplicate, New]);
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

pub async fn a_request_that_could_never_be_carried_out_is_refused(fixture: NotificationFixture) {
    let good = plain_request(1);
    let bad = NotificationRequest { recipients: vec![], ..plain_request(2) };
    let tx = fixture.store.transactions.begin().await.expect("begin");
    let error = tx.submit(&[good.clone(), bad]).await.expect_err("nobody to tell");
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    tx.commit().await.expect("commit");
    fixture.outbox.store.finds_nothing().await;
    assert_eq!(fixture.rival.submit(&[good]).await, [New]);
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
    let opened = fixture.rival.requests.open(request.id).await.expect("open").expect("a request");
    assert_eq!(opened.request.scheduled_at, Some(moment));
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

pub async fn open_marks_a_pending_request_and_answers_the_status_after_the_mark(
    fixture: NotificationFixture,
) {
    let request = submitted(&fixture).await;
    let opened = fixture.rival.requests.open(request).await.expect("open").expect("a request");
    assert_eq!(opened.status, RequestStatus::Processing);
    assert_eq!(progress(&fixture, request).await.recorded, RequestStatus::Processing);
}

pub async fn a_request_that_is_opened_again_is_still_being_processed(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    for side in [&fixture.store, &fixture.rival] {
        let opened = side.requests.open(request).await.expect("open").expect("a request");
        assert_eq!(opened.status, RequestStatus::Processing);
    }
}

pub async fn an_unknown_request_is_not_opened(fixture: NotificationFixture) {
    submitted(&fixture).await;
    assert_eq!(fixture.store.requests.open(Uuid::now_v7()).await.expect("open"), None);
}

pub async fn open_leaves_a_finished_request_as_it_is(fixture: NotificationFixture) {
    for end in [RequestStatus::Cancelled, RequestStatus::Dispatched, RequestStatus::Failed] {
        let request = finished(&fixture, end).await;
        let opened = fixture.rival.requests.open(request).await.expect("open").expect("a request");
        assert_eq!(opened.status, end);
        assert_eq!(progress(&fixture, request).await.recorded, end);
    }
}

pub async fn close_marks_a_request_dispatched(fixture: NotificationFixture) {
    let request = finished(&fixture, RequestStatus::Dispatched).await;
    let progress = progress(&fixture, request).await;
    assert_eq!((progress.recorded, progress.reason), (RequestStatus::Dispatched, None));
}

pub async fn close_with_a_reason_marks_a_request_failed(fixture: NotificationFixture) {
    let request = finished(&fixture, RequestStatus::Failed).await;
    let progress = progress(&fixture, request).await;
    assert_eq!(progress.recorded, RequestStatus::Failed);
    assert_eq!(progress.reason.as_deref(), Some("the segment is unknown"));
}

pub async fn close_leaves_a_request_that_is_not_being_processed_as_it_is(fixture: NotificationFixture) {
    let pending = submitted(&fixture).await;
    let mut requests = vec![(pending, RequestStatus::Pending)];
    for end in [RequestStatus::Cancelled, RequestStatus::Dispatched] {
        requests.push((finished(&fixture, end).await, end));
    }
    for (request, status) in requests {
        fixture.rival.requests.close(request, Some(Reason::new("too late"))).await.expect("close");
        let progress = progress(&fixture, request).await;
        assert_eq!((progress.recorded, progress.reason), (status, None));
    }
    let failed = finished(&fixture, RequestStatus::Failed).await;
    fixture.rival.requests.close(failed, None).await.expect("close");
    assert_eq!(progress(&fixture, failed).await.recorded, RequestStatus::Failed);
    fixture.rival.requests.close(Uuid::now_v7(), None).await.expect("close nothing");
}

pub async fn reopen_takes_up_a_failed_request_and_no_other(fixture: NotificationFixture) {
    let failed = finished(&fixture, RequestStatus::Failed).await;
    fixture.store.requests.reopen(failed).await.expect("reopen");
    let taken_up = progress(&fixture, failed).await;
    assert_eq!((taken_up.recorded, taken_up.reason), (RequestStatus::Processing, None));
    let pending = submitted(&fixture).await;
    let mut others = vec![(pending, RequestStatus::Pending)];
    for end in [RequestStatus::Cancelled, RequestStatus::Dispatched] {
        others.push((finished(&fixture, end).await, end));
    }
    for (request, status) in others {
        fixture.rival.requests.reopen(request).await.expect("reopen");
        assert_eq!(progress(&fixture, request).await.recorded, status);
    }
    fixture.rival.requests.reopen(Uuid::now_v7()).await.expect("reopen nothing");
}

pub async fn only_a_pending_request_is_cancelled(fixture: NotificationFixture) {
    let pending = submitted(&fixture).await;
    assert_eq!(fixture.rival.requests.cancel(pending).await.expect("cancel"), Cancelled::Yes);
    assert_eq!(progress(&fixture, pending).await.recorded, RequestStatus::Cancelled);
    let opened = submitted(&fixture).await;
    fixture.store.requests.open(opened).await.expect("open");
    let late = [
        (opened, RequestStatus::Processing),
        (finished(&fixture, RequestStatus::Dispatched).await, RequestStatus::Dispatched),
        (finished(&fixture, RequestStatus::Failed).await, RequestStatus::Failed),
    ];
    for (request, status) in late {
        let cancelled = fixture.rival.requests.cancel(request).await.expect("cancel");
        assert_eq!(cancelled, Cancelled::TooLate(status));
        assert_eq!(progress(&fixture, request).await.recorded, status);
    }
}

pub async fn an_unknown_request_is_not_cancelled(fixture: NotificationFixture) {
    let cancelled = fixture.store.requests.cancel(Uuid::now_v7()).await.expect("cancel");
    assert_eq!(cancelled, Cancelled::Unknown);
}

pub async fn of_open_and_cancel_at_a_time_one_wins(fixture: NotificationFixture) {
    for _ in 0..20 {
        let request = submitted(&fixture).await;
        let (open_ports, canceller) = (fixture.store.requests.clone(), fixture.rival.requests.clone());
        let opened = tokio::spawn(async move { open_ports.open(request).await });
        let cancelled = tokio::spawn(async move { canceller.cancel(request).await });
        let opened = opened.await.expect("an opening").expect("open").expect("a request");
        let cancelled = cancelled.await.expect("a cancelling").expect("cancel");
        match opened.status {
            RequestStatus::Cancelled => assert_eq!(cancelled, Cancelled::Yes),
            status => assert_eq!(cancelled, Cancelled::TooLate(status)),
        }
        assert_eq!(progress(&fixture, request).await.recorded, opened.status);
    }
}

pub async fn a_record_is_kept_once_and_left_as_it_is(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let first = record(request, 1, DeliveryStatus::Skipped);
    let again = NotificationRecord {
        channel: Channel::Webhook,
        recipient: "somebody else".into(),
        status: DeliveryStatus::Pending,
        reason: None,
        ..first.clone()
    };
    fixture.store.messages.record(std::slice::from_ref(&first)).await.expect("record");
    let kept = fixture.rival.messages.record(&[again.clone(), again]).await.expect("record");
    assert_eq!(kept, [DeliveryStatus::Skipped, DeliveryStatus::Skipped]);
    assert_eq!(fixture.rival.reports.messages(request, None, 9).await.expect("messages"), [first]);
}

pub async fn records_are_answered_in_order_with_where_they_stand(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let all: Vec<_> = (1..=5).map(|n| record(request, n, DeliveryStatus::Pending)).collect();
    fixture.store.messages.record(&all[..3]).await.expect("record");
    let outcomes =
        [outcome(all[2].id, DeliveryStatus::Delivered), outcome(all[0].id, DeliveryStatus::Failed)];
    fixture.rival.messages.conclude(&outcomes).await.expect("conclude");
    let kept = fixture.store.messages.record(&all).await.expect("record");
    use DeliveryStatus::{Delivered, Failed, Pending};
    assert_eq!(kept, [Failed, Pending, Delivered, Pending, Pending]);
    assert_eq!(fixture.store.messages.record(&[]).await.expect("record"), []);
}

pub async fn where_messages_stand_is_answered_in_order(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    use DeliveryStatus::{Delivered, Pending, Skipped};
    let all = [record(request, 1, Pending), record(request, 2, Skipped), record(request, 3, Pending)];
    fixture.store.messages.record(&all).await.expect("record");
    fixture.store.messages.conclude(&[outcome(all[2].id, Delivered)]).await.expect("conclude");
    let ids = [all[2].id, Uuid::now_v7(), all[1].id, all[0].id, all[2].id];
    let status = fixture.rival.messages.status(&ids).await.expect("status");
    assert_eq!(status, [Some(Delivered), None, Some(Skipped), Some(Pending), Some(Delivered)]);
    assert_eq!(fixture.rival.messages.status(&[]).await.expect("status"), []);
}

pub async fn only_a_pending_message_is_concluded(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    use DeliveryStatus::{Delivered, Failed, Pending, Skipped};
    let all = [record(request, 1, Pending), record(request, 2, Pending), record(request, 3, Skipped)];
    fixture.store.messages.record(&all).await.expect("record");
    let first = [outcome(all[0].id, Delivered), outcome(all[1].id, Failed)];
    let second = [outcome(all[0].id, Failed), outcome(all[1].id, Delivered), outcome(all[2].id, Delivered)];
    fixture.store.messages.conclude(&first).await.expect("conclude");
    fixture.rival.messages.conclude(&second).await.expect("conclude");
    fixture.rival.messages.conclude(&[outcome(Uuid::now_v7(), Failed)]).await.expect("conclude nothing");
    let status = fixture.rival.messages.status(&all.map(|r| r.id)).await.expect("status");
    assert_eq!(status, [Some(Delivered), Some(Failed), Some(Skipped)]);
}

pub async fn a_concluded_failure_keeps_its_reason(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let pending = record(request, 1, DeliveryStatus::Pending);
    fixture.store.messages.record(std::slice::from_ref(&pending)).await.expect("record");
    let failed = outcome(pending.id, DeliveryStatus::Failed);
    fixture.store.messages.conclude(std::slice::from_ref(&failed)).await.expect("conclude");
    let expected = NotificationRecord { status: failed.status, reason: failed.reason, ..pending };
    assert_eq!(fixture.rival.reports.messages(request, None, 9).await.expect("messages"), [expected]);
}

pub async fn reopen_makes_a_failed_message_pending_and_no_other(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    use DeliveryStatus::{Delivered, Failed, Pending, Skipped};
    let all = [record(request, 1, Pending), record(request, 2, Pending), record(request, 3, Skipped)];
    fixture.store.messages.record(&all).await.expect("record");
    let ends = [outcome(all[0].id, Failed), outcome(all[1].id, Delivered)];
    fixture.store.messages.conclude(&ends).await.expect("conclude");
    for record in &all {
        fixture.rival.messages.reopen(record.id).await.expect("reopen");
    }
    fixture.rival.messages.reopen(Uuid::now_v7()).await.expect("reopen nothing");
    let status = fixture.store.messages.status(&all.each_ref().map(|r| r.id)).await.expect("status");
    assert_eq!(status, [Some(Pending), Some(Delivered), Some(Skipped)]);
    let page = fixture.store.reports.messages(request, None, 9).await.expect("messages");
    assert!(page.iter().all(|kept| kept.id != all[0].id || kept.reason.is_none()));
}

pub async fn progress_counts_every_status(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    use DeliveryStatus::{Delivered, Failed, Pending, Skipped};
    let all: Vec<_> = (1..=10).map(|n| record(request, n, if n > 6 { Skipped } else { Pending })).collect();
    fixture.store.messages.record(&all).await.expect("record");
    let outcomes: Vec<_> = all[..5]
        .iter()
        .enumerate()
        .map(|(n, r)| outcome(r.id, if n < 2 { Failed } else { Delivered }))
        .collect();
    fixture.store.messages.conclude(&outcomes).await.expect("conclude");
    fixture.store.messages.record(&[record(submitted(&fixture).await, 99, Pending)]).await.expect("record");
    let expected = Progress {
        recorded: RequestStatus::Pending,
        reason: None,
        pending: 1,
        delivered: 3,
        skipped: 4,
        failed: 2,
    };
    assert_eq!(progress(&fixture, request).await, expected);
}

pub async fn progress_of_an_unknown_request_is_nothing(fixture: NotificationFixture) {
    assert_eq!(fixture.store.reports.progress(Uuid::now_v7()).await.expect("progress"), None);
}

pub async fn messages_are_paged_by_id(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let mut all: Vec<_> = (1..=7).map(|n| record(request, n, DeliveryStatus::Pending)).collect();
    fixture.store.messages.record(&all).await.expect("record");
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
    fixture.store.messages.record(&records).await.expect("record");
    assert_eq!(fixture.rival.reports.messages(one, None, 9).await.expect("messages"), records[..1]);
    assert_eq!(fixture.rival.reports.messages(other, None, 9).await.expect("messages"), records[1..]);
    assert_eq!(fixture.rival.reports.messages(Uuid::now_v7(), None, 9).await.expect("messages"), []);
}

async fn submit_until_answered(side: &NotificationPorts, request: NotificationRequest) -> Enqueued {
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

async fn submitted(fixture: &NotificationFixture) -> Uuid {
    let request = plain_request(5);
    assert_eq!(fixture.store.submit(std::slice::from_ref(&request)).await, [New]);
    request.id
}

/// A request that was brought to an end.
async fn finished(fixture: &NotificationFixture, end: RequestStatus) -> Uuid {
    let request = submitted(fixture).await;
    let requests = &fixture.store.requests;
    if end == RequestStatus::Cancelled {
        assert_eq!(requests.cancel(request).await.expect("cancel"), Cancelled::Yes);
        return request;
    }
    requests.open(request).await.expect("open");
    let failure = (end == RequestStatus::Failed).then(|| Reason::new("the segment is unknown"));
    requests.close(request, failure).await.expect("close");
    request
}

async fn progress(fixture: &NotificationFixture, request: Uuid) -> Progress {
    fixture.rival.reports.progress(request).await.expect("progress").expect("a request")
}

fn plain_request(n: u32) -> NotificationRequest {
    NotificationRequest {
        id: Uuid::now_v7(),
        requester: Requester { kind: RequesterKind::Service, id: format!("shop-{n}") },
        recipients: vec![
            RecipientReference::User { user: format!("user-{n}") },
            RecipientReference::Segment { segment: "vip".into() },
            RecipientReference::Direct(DirectRecipient {
                email: Some("jürgen@example.com".into()),
                language: Some("de".into()),
                ..DirectRecipient::default()
            }),
        ],
        channels: vec![Channel::Push, Channel::Email],
        content: Some(Content {
            title: Some(format!("title {n}")),
            body: Some("body \u{1f4ec}".into()),
            redirect_url: Some("https://example.com/r".into()),
            image_url: Some("https://example.com/i.png".into()),
        }),
        template: None,
        scheduled_at: None,
        delay_ms: None,
        memo: Some(format!("memo {n}")),
        headers: Default::default(),
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

fn record(request_id: Uuid, n: u32, status: DeliveryStatus) -> NotificationRecord {
    let reason = (status == DeliveryStatus::Skipped).then(|| Reason::new(format!("skipped because {n}")));
    let (channel, recipient) = (Channel::ALL[n as usize % 6], format!("user:u-{n}"));
    let id = message_id(request_id, channel, &recipient);
    NotificationRecord { id, request_id, channel, recipient, status, reason }
}

fn outcome(id: Uuid, status: DeliveryStatus) -> MessageOutcome {
    MessageOutcome {
        id,
        status,
        reason: (status == DeliveryStatus::Failed).then(|| Reason::new("the number is wrong")),
        reference: (status == DeliveryStatus::Delivered).then(|| "provider-77".into()),
    }
}
