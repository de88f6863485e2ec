//! Where requests stand: read, cancelled, and moved on by the steps of their fan-out, which keep records.
//! Promise: calls with the same requests in opposite orders do not end in a deadlock

use claimstream_domain::{
    Reason,
    notification::{Channel, DeliveryStatus, FanOutEnd, NotificationRecord, RequestStatus},
};
use claimstream_ports::notification::{Cancelled, CancelledMessages, FanOutStep, StepNoted};
use futures::future::join_all;
use uuid::Uuid;

use super::{
    messages::{outcome, record},
    sample::{keep, note, progress, read, step, submitted},
};
use crate::{
    NotificationFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
    requests_are_read_in_order_with_where_they_stand needs [Store],
    a_step_with_more_to_come_marks_a_request_as_being_processed needs [Store],
    the_last_step_marks_a_request_dispatched needs [Store],
    a_step_that_fails_marks_a_request_failed_with_its_reason needs [Store],
    a_step_leaves_a_finished_request_as_it_is needs [Store],
    a_failed_request_moves_only_if_it_is_taken_up needs [Store],
    flaws_of_steps_are_a_requests_reason_until_it_fails needs [Store],
    steps_of_many_requests_are_noted_together,
    last_steps_of_open_and_other_requests_are_noted_together needs [Store],
    steps_of_one_request_are_noted_in_order needs [Store],
    a_record_is_kept_once_and_left_as_it_is needs [Store],
    records_are_answered_in_order_with_where_they_stand needs [Store],
    a_request_without_messages_keeps_no_record needs [Store],
    steps_that_are_noted_again_get_the_same_answers needs [Store],
    steps_of_the_same_requests_in_opposite_orders_all_get_through needs [Store],
];

use DeliveryStatus::{Delivered, Failed, Pending, Skipped};

pub async fn requests_are_read_in_order_with_where_they_stand(fixture: NotificationFixture) {
    let (one, two) = (submitted(&fixture).await, finished(&fixture, RequestStatus::Dispatched).await);
    let found = fixture.rival.requests.read(&[two, Uuid::now_v7(), one, two]).await.expect("read");
    let found: Vec<_> =
        found.into_iter().map(|read| read.map(|read| (read.request.id, read.status))).collect();
    let (one, two) = (Some((one, RequestStatus::Pending)), Some((two, RequestStatus::Dispatched)));
    assert_eq!(found, [two, None, one, two]);
    assert_eq!(fixture.store.requests.read(&[]).await.expect("read"), []);
}

pub async fn a_step_with_more_to_come_marks_a_request_as_being_processed(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    for side in [&fixture.store, &fixture.rival] {
        let noted = note(side, step(request, FanOutEnd::More, &[])).await;
        assert_eq!(
            noted,
            StepNoted { status: Some(RequestStatus::Processing), records: vec![], outdated: false }
        );
        assert_eq!(progress(&fixture, request).await.recorded, RequestStatus::Processing);
    }
}

pub async fn the_last_step_marks_a_request_dispatched(fixture: NotificationFixture) {
    for is_processed in [false, true] {
        let request = submitted(&fixture).await;
        if is_processed {
            note(&fixture.rival, step(request, FanOutEnd::More, &[])).await;
        }
        let noted = note(&fixture.store, step(request, FanOutEnd::Done, &[])).await;
        assert_eq!(noted.status, Some(RequestStatus::Dispatched));
        let progress = progress(&fixture, request).await;
        assert_eq!((progress.recorded, progress.reason), (RequestStatus::Dispatched, None));
    }
}

pub async fn a_step_that_fails_marks_a_request_failed_with_its_reason(fixture: NotificationFixture) {
    let request = finished(&fixture, RequestStatus::Failed).await;
    let progress = progress(&fixture, request).await;
    assert_eq!(progress.recorded, RequestStatus::Failed);
    assert_eq!(progress.reason.as_deref(), Some("the segment is unknown"));
}

pub async fn a_step_leaves_a_finished_request_as_it_is(fixture: NotificationFixture) {
    for end in [RequestStatus::Cancelled, RequestStatus::Dispatched] {
        let request = finished(&fixture, end).await;
        for takes_up in [false, true] {
            for with in [FanOutEnd::More, FanOutEnd::Done, FanOutEnd::Failed(Reason::new("too late"))] {
                let noted = note(&fixture.rival, FanOutStep { takes_up, ..step(request, with, &[]) }).await;
                assert_eq!(noted.status, Some(end));
                let progress = progress(&fixture, request).await;
                assert_eq!((progress.recorded, progress.reason), (end, None));
            }
        }
    }
    let unknown = note(&fixture.rival, step(Uuid::now_v7(), FanOutEnd::Done, &[])).await;
    assert_eq!(unknown, StepNoted { status: None, records: vec![], outdated: false });
}

pub async fn a_failed_request_moves_only_if_it_is_taken_up(fixture: NotificationFixture) {
    let again = FanOutEnd::Failed(Reason::new("and again"));
    let ends = [
        (FanOutEnd::More, RequestStatus::Processing, None),
        (FanOutEnd::Done, RequestStatus::Dispatched, None),
        (again, RequestStatus::Failed, Some("and again")),
    ];
    for (end, status, reason) in ends {
        let request = finished(&fixture, RequestStatus::Failed).await;
        let noted = note(&fixture.rival, step(request, end.clone(), &[])).await;
        assert_eq!(noted.status, Some(RequestStatus::Failed));
        assert_eq!(progress(&fixture, request).await.reason.as_deref(), Some("the segment is unknown"));
        let noted = note(&fixture.store, FanOutStep { takes_up: true, ..step(request, end, &[]) }).await;
        assert_eq!(noted.status, Some(status));
        let taken_up = progress(&fixture, request).await;
        assert_eq!((taken_up.recorded, taken_up.reason.as_deref()), (status, reason));
    }
}

pub async fn flaws_of_steps_are_a_requests_reason_until_it_fails(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let flawed =
        |end: FanOutEnd, flaw: &str| FanOutStep { flaw: Some(Reason::new(flaw)), ..step(request, end, &[]) };
    let steps = [
        (step(request, FanOutEnd::More, &[]), None),
        (flawed(FanOutEnd::More, "unknown segment \"a\""), Some("unknown segment \"a\"")),
        (flawed(FanOutEnd::More, "unknown segment \"a\""), Some("unknown segment \"a\"")),
        (step(request, FanOutEnd::More, &[]), Some("unknown segment \"a\"")),
        (flawed(FanOutEnd::More, "and b"), Some("unknown segment \"a\"; and b")),
        (step(request, FanOutEnd::Done, &[]), Some("unknown segment \"a\"; and b")),
    ];
    for (step, reason) in steps {
        note(&fixture.store, step).await;
        assert_eq!(progress(&fixture, request).await.reason.as_deref(), reason);
    }
    let failed = finished(&fixture, RequestStatus::Failed).await;
    note(&fixture.store, FanOutStep { takes_up: true, ..step(failed, FanOutEnd::Done, &[]) }).await;
    assert_eq!(progress(&fixture, failed).await.reason, None);
}

pub async fn steps_of_many_requests_are_noted_together(fixture: NotificationFixture) {
    let mut steps = Vec::new();
    for n in 0..12 {
        let request = submitted(&fixture).await;
        let end = match n % 4 {
            0 => FanOutEnd::More,
            1 | 2 => FanOutEnd::Done,
            _ => FanOutEnd::Failed(Reason::new(n)),
        };
        let records =
            if n % 4 == 3 { vec![] } else { vec![record(request, n, Pending), record(request, n, Skipped)] };
        steps.push(step(request, end, &records[..records.len().min(1)]));
    }
    steps.push(step(Uuid::now_v7(), FanOutEnd::Done, &[]));
    let noted = fixture.store.requests.note_steps(&steps).await.expect("note");
    for (n, (step, noted)) in steps.iter().zip(&noted).enumerate().take(12) {
        let expected = [
            RequestStatus::Processing,
            RequestStatus::Dispatched,
            RequestStatus::Dispatched,
            RequestStatus::Failed,
        ];
        assert_eq!(noted.status, Some(expected[n % 4]));
        let progress = progress(&fixture, step.request).await;
        assert_eq!(
            (progress.recorded, progress.reason),
            (expected[n % 4], (n % 4 == 3).then(|| n.to_string()))
        );
        assert_eq!(noted.records, vec![Pending; step.records.len()]);
        assert_eq!(progress.pending, step.records.len() as u64);
    }
    assert_eq!(noted[12], StepNoted { status: None, records: vec![], outdated: false });
    assert_eq!(fixture.store.requests.note_steps(&[]).await.expect("note"), []);
}

pub async fn last_steps_of_open_and_other_requests_are_noted_together(fixture: NotificationFixture) {
    use RequestStatus::{Cancelled, Dispatched, Failed};
    let mut requests = vec![(submitted(&fixture).await, Dispatched)];
    for end in [Cancelled, Dispatched, Failed] {
        requests.push((finished(&fixture, end).await, end));
        let begun = submitted(&fixture).await;
        note(&fixture.store, step(begun, FanOutEnd::More, &[])).await;
        requests.push((begun, Dispatched));
    }
    let last = |(request, _): &(Uuid, _)| step(*request, FanOutEnd::Done, &[record(*request, 1, Pending)]);
    let steps: Vec<_> = requests.iter().map(last).collect();
    let noted = fixture.store.requests.note_steps(&steps).await.expect("note");
    for ((request, status), noted) in requests.into_iter().zip(noted) {
        let records = if status == Dispatched { vec![Pending] } else { vec![] };
        let progress = progress(&fixture, request).await;
        assert_eq!((progress.recorded, progress.total()), (status, records.len() as u64));
        assert_eq!(noted, StepNoted { status: Some(status), records, outdated: false });
    }
}

pub async fn steps_of_one_request_are_noted_in_order(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let steps = [
        step(request, FanOutEnd::More, &[record(request, 1, Pending)]),
        step(request, FanOutEnd::Done, &[record(request, 2, Pending)]),
        step(request, FanOutEnd::Failed(Reason::new("too late")), &[]),
    ];
    fixture.store.requests.note_steps(&steps).await.expect("note");
    let progress = progress(&fixture, request).await;
    assert_eq!((progress.recorded, progress.reason, progress.pending), (RequestStatus::Dispatched, None, 2));
}

pub async fn a_record_is_kept_once_and_left_as_it_is(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let first = record(request, 1, Skipped);
    let again = NotificationRecord {
        channel: Channel::Webhook,
        recipient: "another recipient".into(),
        status: Pending,
        reason: None,
        ..first.clone()
    };
    keep(&fixture.store, std::slice::from_ref(&first)).await;
    let kept = note(&fixture.rival, step(request, FanOutEnd::More, &[again])).await;
    assert_eq!(kept.records, [Skipped]);
    assert_eq!(fixture.rival.reports.messages(request, None, 9).await.expect("messages"), [first]);
}

pub async fn records_are_answered_in_order_with_where_they_stand(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let all: Vec<_> = (1..=5).map(|n| record(request, n, Pending)).collect();
    keep(&fixture.store, &all[..3]).await;
    let outcomes = [outcome(all[2].id, Delivered), outcome(all[0].id, Failed)];
    fixture.rival.messages.conclude(&outcomes).await.expect("conclude");
    let kept = note(&fixture.store, step(request, FanOutEnd::Done, &all)).await;
    assert_eq!(kept.records, [Failed, Pending, Delivered, Pending, Pending]);
    let status = fixture.rival.messages.status(&all.iter().map(|r| r.id).collect::<Vec<_>>()).await;
    assert_eq!(status.expect("status"), kept.records.into_iter().map(Some).collect::<Vec<_>>());
}

pub async fn a_request_without_messages_keeps_no_record(fixture: NotificationFixture) {
    for end in [RequestStatus::Cancelled, RequestStatus::Failed] {
        let request = finished(&fixture, end).await;
        let noted =
            note(&fixture.store, step(request, FanOutEnd::Done, &[record(request, 1, Pending)])).await;
        assert_eq!(noted, StepNoted { status: Some(end), records: vec![], outdated: false });
        assert_eq!(progress(&fixture, request).await.total(), 0);
    }
    let unknown = Uuid::now_v7();
    let orphan = record(unknown, 1, Pending);
    note(&fixture.store, step(unknown, FanOutEnd::Done, std::slice::from_ref(&orphan))).await;
    assert_eq!(fixture.rival.messages.status(&[orphan.id]).await.expect("status"), [None]);
}

pub async fn steps_that_are_noted_again_get_the_same_answers(fixture: NotificationFixture) {
    let mut steps = Vec::new();
    for n in 0..6 {
        let request = submitted(&fixture).await;
        let end =
            [FanOutEnd::More, FanOutEnd::Done, FanOutEnd::Failed(Reason::new(n))][n as usize % 3].clone();
        let records = [record(request, 1, Pending), record(request, 2, Skipped)];
        let records = if end.reason().is_some() { &[][..] } else { &records };
        steps.push(FanOutStep { takes_up: n < 3, ..step(request, end, records) });
    }
    let first = fixture.store.requests.note_steps(&steps).await.expect("note");
    let reasons = |progress: claimstream_domain::notification::Progress| (progress.recorded, progress.reason);
    let mut stood = Vec::new();
    for step in &steps {
        stood.push(reasons(progress(&fixture, step.request).await));
    }
    steps.reverse();
    let mut again = fixture.rival.requests.note_steps(&steps).await.expect("note again");
    again.reverse();
    assert_eq!(again, first);
    for (step, stood) in steps.iter().rev().zip(stood) {
        assert_eq!(reasons(progress(&fixture, step.request).await), stood);
    }
}

pub async fn steps_of_the_same_requests_in_opposite_orders_all_get_through(fixture: NotificationFixture) {
    for _ in 0..5 {
        let mut steps = Vec::new();
        for _ in 0..20 {
            let request = submitted(&fixture).await;
            let records: Vec<_> = (0..5).map(|n| record(request, n, Pending)).collect();
            steps.push(step(request, FanOutEnd::Done, &records));
        }
        let calls = (0..4).map(|n| {
            let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
            let (requests, mut steps) = (side.requests.clone(), steps.clone());
            if n % 2 == 0 {
                steps.reverse();
                steps.iter_mut().for_each(|step| step.records.reverse());
            }
            tokio::spawn(async move { requests.note_steps(&steps).await })
        });
        for noted in join_all(calls).await {
            let noted = noted.expect("a call").expect("note");
            let dispatched = StepNoted {
                status: Some(RequestStatus::Dispatched),
                records: vec![Pending; 5],
                outdated: false,
            };
            assert!(noted.iter().all(|noted| *noted == dispatched), "{noted:?}");
        }
        for step in &steps {
            assert_eq!(progress(&fixture, step.request).await.pending, 5);
        }
    }
}

/// A request that was brought to an end.
pub(super) async fn finished(fixture: &NotificationFixture, end: RequestStatus) -> Uuid {
    let request = submitted(fixture).await;
    if end == RequestStatus::Cancelled {
        let cancelled = fixture.store.requests.cancel(request).await.expect("cancel");
        assert_eq!(cancelled, Cancelled::Yes(CancelledMessages::default()));
        return request;
    }
    let with = match end {
        RequestStatus::Failed => FanOutEnd::Failed(Reason::new("the segment is unknown")),
        _ => FanOutEnd::Done,
    };
    note(&fixture.store, step(request, with, &[])).await;
    assert_eq!(read(&fixture.rival, request).await.status, end);
    request
}
