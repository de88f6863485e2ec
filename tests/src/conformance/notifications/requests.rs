//! Where a request stands: opened, closed, reopened, cancelled.

use claimstream_domain::{Reason, notification::RequestStatus};
use claimstream_ports::notification::Cancelled;
use uuid::Uuid;

use super::sample::{progress, submitted};
use crate::{
    NotificationFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
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
];

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
