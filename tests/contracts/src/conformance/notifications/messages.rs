//! Records of a request's messages, and where they stand.

use claimstream_domain::{
    Reason,
    notification::{Channel, DeliveryStatus, NotificationRecord, message_id},
};
use claimstream_ports::notification::MessageOutcome;
use uuid::Uuid;

use super::sample::{keep, submitted};
use crate::{
    NotificationFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
    where_messages_stand_is_answered_in_order needs [Store],
    a_pending_message_is_concluded_and_a_sent_or_skipped_one_is_not_failed needs [Store],
    outcomes_that_differ_are_each_noted_as_they_are,
    of_two_outcomes_of_a_message_the_overriding_one_counts needs [Store],
    a_concluded_failure_keeps_its_reason needs [Store],
    reopen_makes_a_failed_message_pending_and_no_other needs [Store],
];

pub async fn where_messages_stand_is_answered_in_order(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    use DeliveryStatus::{Delivered, Pending, Skipped};
    let all = [record(request, 1, Pending), record(request, 2, Skipped), record(request, 3, Pending)];
    keep(&fixture.store, &all).await;
    fixture.store.messages.conclude(&[outcome(all[2].id, Delivered)]).await.expect("conclude");
    let ids = [all[2].id, Uuid::now_v7(), all[1].id, all[0].id, all[2].id];
    let status = fixture.rival.messages.status(&ids).await.expect("status");
    assert_eq!(status, [Some(Delivered), None, Some(Skipped), Some(Pending), Some(Delivered)]);
    assert_eq!(fixture.rival.messages.status(&[]).await.expect("status"), []);
}

// Guard: a delivery overrides a failure that a handler noted whose claim was lost |
// adapters/sea-orm/src/sql/notifications/message_conclude.sql `conclude`: only `status = 'PENDING'`
pub async fn a_pending_message_is_concluded_and_a_sent_or_skipped_one_is_not_failed(
    fixture: NotificationFixture,
) {
    let request = submitted(&fixture).await;
    use DeliveryStatus::{Cancelled, Delivered, Failed, Pending, Skipped};
    // As many as one statement writes alike, and few that it writes each in its own way.
    for count in [1, 20] {
        let all: Vec<_> = (0..count * 3)
            .map(|n| record(request, n, if n % 3 == 2 { Skipped } else { Pending }))
            .map(|record| NotificationRecord { id: Uuid::now_v7(), ..record })
            .collect();
        keep(&fixture.store, &all).await;
        let ends = |each: [Option<DeliveryStatus>; 3]| -> Vec<MessageOutcome> {
            let ends = all.iter().zip(each.into_iter().cycle());
            ends.filter_map(|(record, status)| Some(outcome(record.id, status?))).collect()
        };
        fixture
            .store
            .messages
            .conclude(&ends([Some(Delivered), Some(Failed), None]))
            .await
            .expect("conclude");
        let second = ends([Some(Skipped), Some(Cancelled), Some(Failed)]);
        fixture.rival.messages.conclude(&second).await.expect("conclude");
        let ids: Vec<Uuid> = all.iter().map(|record| record.id).collect();
        let stand = || async { fixture.rival.messages.status(&ids).await.expect("status") };
        let all_of = |each: [DeliveryStatus; 3]| each.map(Some).repeat(count as usize);
        assert_eq!(stand().await, all_of([Delivered, Failed, Skipped]));
        fixture.rival.messages.conclude(&ends([None, Some(Skipped), None])).await.expect("conclude");
        assert_eq!(stand().await, all_of([Delivered, Skipped, Skipped]));
        let third = ends([Some(Skipped), Some(Delivered), Some(Delivered)]);
        fixture.rival.messages.conclude(&third).await.expect("conclude");
        assert_eq!(stand().await, all_of([Delivered; 3]));
        let kept = fixture.rival.reports.messages(request, None, 999).await.expect("messages");
        let overridden = kept.iter().filter(|record| record.id == all[1].id).map(|record| &record.reason);
        assert_eq!(overridden.collect::<Vec<_>>(), [&outcome(all[1].id, Delivered).reason]);
    }
    fixture.rival.messages.conclude(&[outcome(Uuid::now_v7(), Failed)]).await.expect("conclude nothing");
}

pub async fn outcomes_that_differ_are_each_noted_as_they_are(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    use DeliveryStatus::{Delivered, Failed, Pending};
    let all: Vec<_> = (1..=180).map(|n| record(request, n, Pending)).collect();
    keep(&fixture.store, &all).await;
    let mut outcomes: Vec<_> = (0..150)
        .map(|n| match n % 5 {
            0 | 1 => MessageOutcome { reason: Some(Reason::new(n)), ..outcome(all[n].id, Failed) },
            2 | 3 => {
                MessageOutcome { reference: Some(format!("reference {n}")), ..outcome(all[n].id, Delivered) }
            }
            _ => MessageOutcome { reference: None, ..outcome(all[n].id, Delivered) },
        })
        .collect();
    let unknown = [outcome(Uuid::now_v7(), Delivered), outcome(Uuid::now_v7(), Failed)];
    fixture.store.messages.conclude(&[&outcomes[..], &unknown].concat()).await.expect("conclude");
    outcomes.reverse();
    fixture.rival.messages.conclude(&outcomes).await.expect("conclude again");
    let mut expected = all.clone();
    for (n, record) in expected.iter_mut().enumerate().take(150) {
        match n % 5 {
            0 | 1 => (record.status, record.reason) = (Failed, Some(Reason::new(n))),
            2 | 3 => (record.status, record.reference) = (Delivered, Some(format!("reference {n}"))),
            _ => record.status = Delivered,
        }
    }
    expected.sort_by_key(|record| record.id);
    let kept = fixture.rival.reports.messages(request, None, 999).await.expect("messages");
    assert_eq!(kept, expected);
}

pub async fn of_two_outcomes_of_a_message_the_overriding_one_counts(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    use DeliveryStatus::{Delivered, Failed, Pending, Skipped};
    let all = [record(request, 1, Pending), record(request, 2, Pending), record(request, 3, Pending)];
    keep(&fixture.store, &all).await;
    let outcomes = [
        outcome(all[0].id, Delivered),
        outcome(all[1].id, Failed),
        outcome(all[2].id, Failed),
        outcome(all[0].id, Failed),
        outcome(all[1].id, Delivered),
        outcome(all[2].id, Skipped),
    ];
    fixture.store.messages.conclude(&outcomes).await.expect("conclude");
    let status = fixture.rival.messages.status(&all.map(|r| r.id)).await.expect("status");
    assert_eq!(status, [Some(Delivered), Some(Delivered), Some(Skipped)]);
}

pub async fn a_concluded_failure_keeps_its_reason(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let pending = record(request, 1, DeliveryStatus::Pending);
    keep(&fixture.store, std::slice::from_ref(&pending)).await;
    let failed = outcome(pending.id, DeliveryStatus::Failed);
    fixture.store.messages.conclude(std::slice::from_ref(&failed)).await.expect("conclude");
    let expected = NotificationRecord { status: failed.status, reason: failed.reason, ..pending };
    assert_eq!(fixture.rival.reports.messages(request, None, 9).await.expect("messages"), [expected]);
}

pub async fn reopen_makes_a_failed_message_pending_and_no_other(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    use DeliveryStatus::{Delivered, Failed, Pending, Skipped};
    let all = [record(request, 1, Pending), record(request, 2, Pending), record(request, 3, Skipped)];
    keep(&fixture.store, &all).await;
    let ends = [outcome(all[0].id, Failed), outcome(all[1].id, Delivered)];
    fixture.store.messages.conclude(&ends).await.expect("conclude");
    for (record, status) in all.iter().zip([Pending, Delivered, Skipped]) {
        assert_eq!(fixture.rival.messages.reopen(record.id).await.expect("reopen"), Some(status));
    }
    assert_eq!(fixture.rival.messages.reopen(Uuid::now_v7()).await.expect("reopen nothing"), None);
    let status = fixture.store.messages.status(&all.each_ref().map(|r| r.id)).await.expect("status");
    assert_eq!(status, [Some(Pending), Some(Delivered), Some(Skipped)]);
    let page = fixture.store.reports.messages(request, None, 9).await.expect("messages");
    assert!(page.iter().all(|kept| kept.id != all[0].id || kept.reason.is_none()));
}

pub(super) fn record(request_id: Uuid, n: u32, status: DeliveryStatus) -> NotificationRecord {
    let reason = (status == DeliveryStatus::Skipped).then(|| Reason::new(format!("skipped because {n}")));
    let (channel, recipient) = (Channel::ALL[n as usize % 6], format!("user:u-{n}"));
    let id = message_id(request_id, channel, &recipient);
    NotificationRecord { id, request_id, channel, recipient, status, reason, reference: None }
}

pub(super) fn outcome(id: Uuid, status: DeliveryStatus) -> MessageOutcome {
    MessageOutcome {
        id,
        status,
        reason: (status == DeliveryStatus::Failed).then(|| Reason::new("the number is wrong")),
        reference: (status == DeliveryStatus::Delivered).then(|| "provider-77".into()),
    }
}
