//! What people may ask: progress, and messages page by page.

use claimstream_domain::notification::{DeliveryStatus, NotificationRecord, Progress, RequestStatus};
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
    progress_counts_every_status,
    progress_of_an_unknown_request_is_nothing,
    messages_are_paged_by_id,
    messages_of_another_request_are_left_out,
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
