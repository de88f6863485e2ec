//! Records that a failover has lost, and that messages bring back.
//! Promise: a recipient that was erased while the record of a message was missing receives nothing, in either
//! order, also from a dead letter that is revived much later

use std::time::Duration;

use claimstream_domain::notification::{
    Channel, DeliveryStatus, DirectRecipient, ERASED, FanOutEnd, NotificationMessage, NotificationRecord,
    NotificationRequest, Recipient, RecipientReference, RequestStatus, Submitted, delivery_message,
    message_id,
};
use claimstream_ports::notification::MissingRecord;
use uuid::Uuid;

use super::{
    messages::{outcome, record},
    sample::{keep, plain_request, progress, submitted},
};
use crate::{
    NotificationFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
    a_missing_record_is_restored_and_its_request_dispatched needs [Store],
    a_request_of_which_more_steps_followed_is_being_processed needs [Store],
    a_record_that_is_there_is_not_restored needs [Store],
    no_record_is_restored_of_a_request_that_is_over_or_unknown needs [Store],
    a_missing_record_of_an_erased_recipient_is_cancelled_without_a_name,
    a_missing_record_of_an_erased_member_of_a_segment_is_cancelled needs [Store],
    nothing_is_delivered_to_an_erased_recipient_of_an_unknown_request needs [Store],
    a_recipient_who_came_back_after_an_erasure_has_a_record_restored needs [Store],
    an_erasure_during_a_restoration_leaves_the_record_cancelled needs [Store],
];

pub async fn a_missing_record_is_restored_and_its_request_dispatched(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let records = [1, 2].map(|n| record(request, n, DeliveryStatus::Pending));
    let stand = restore(&fixture, &records, FanOutEnd::Done).await;
    assert_eq!(stand, [Some(DeliveryStatus::Pending); 2]);
    let now = progress(&fixture, request).await;
    assert_eq!((now.recorded, now.pending, now.delivered), (RequestStatus::Dispatched, 2, 0));
    let outcomes = records.map(|record| outcome(record.id, DeliveryStatus::Delivered));
    fixture.rival.messages.conclude(&outcomes).await.expect("conclude");
    assert_eq!(progress(&fixture, request).await.delivered, 2);
}

pub async fn a_request_of_which_more_steps_followed_is_being_processed(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let records = [1, 2, 3].map(|n| record(request, n, DeliveryStatus::Pending));
    assert_eq!(restore(&fixture, &records[..1], FanOutEnd::More).await, [Some(DeliveryStatus::Pending)]);
    let now = progress(&fixture, request).await;
    assert_eq!((now.recorded, now.pending), (RequestStatus::Processing, 1));
    let missing = [missing(&records[1], FanOutEnd::Done), missing(&records[2], FanOutEnd::More)];
    let stand = fixture.rival.messages.restore(&missing).await.expect("restore");
    assert_eq!(stand, [Some(DeliveryStatus::Pending); 2]);
    let now = progress(&fixture, request).await;
    assert_eq!(
        (now.recorded, now.pending),
        (RequestStatus::Dispatched, 3),
        "one of them was of the last step"
    );
    restore(&fixture, &[record(request, 4, DeliveryStatus::Pending)], FanOutEnd::More).await;
    assert_eq!(progress(&fixture, request).await.recorded, RequestStatus::Dispatched);
}

pub async fn a_record_that_is_there_is_not_restored(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let all = [1, 2].map(|n| record(request, n, DeliveryStatus::Pending));
    keep(&fixture.store, &all[..1]).await;
    fixture
        .store
        .messages
        .conclude(&[outcome(all[0].id, DeliveryStatus::Delivered)])
        .await
        .expect("conclude");
    let stand = restore(&fixture, &all, FanOutEnd::Done).await;
    assert_eq!(stand, [Some(DeliveryStatus::Delivered), Some(DeliveryStatus::Pending)]);
    let status = fixture.store.messages.status(&all.map(|record| record.id)).await.expect("status");
    assert_eq!(status, [Some(DeliveryStatus::Delivered), Some(DeliveryStatus::Pending)]);
}

pub async fn no_record_is_restored_of_a_request_that_is_over_or_unknown(fixture: NotificationFixture) {
    let cancelled = submitted(&fixture).await;
    fixture.store.requests.cancel(cancelled).await.expect("cancel");
    let all = [cancelled, Uuid::now_v7()].map(|request| record(request, 1, DeliveryStatus::Pending));
    let stand = restore(&fixture, &all, FanOutEnd::Done).await;
    assert_eq!(stand, [Some(DeliveryStatus::Cancelled), None]);
    let status = fixture.rival.messages.status(&all.map(|record| record.id)).await.expect("status");
    assert_eq!(status, [None, None]);
}

pub async fn a_missing_record_of_an_erased_recipient_is_cancelled_without_a_name(
    fixture: NotificationFixture,
) {
    for with_a_segment in [false, true] {
        let (gone, other) = (direct(), direct());
        let mut recipients = [&gone, &other].map(|one| RecipientReference::Direct(one.clone())).to_vec();
        if with_a_segment {
            recipients.push(RecipientReference::Segment { segment: "vip".into() });
        }
        let request = submit(&fixture, NotificationRequest { recipients, ..plain_request(1) }).await;
        let keys = [&gone, &other].map(|one| one.clone().resolve().key);
        let records = keys.each_ref().map(|key| pending(request, key));
        let payload = NotificationMessage {
            recipient: keys[0].clone(),
            address: gone.email.clone().expect("an address"),
            ..NotificationMessage::erased(records[0].id, request, Channel::Email)
        };
        fixture.outbox.store.enqueue(&[delivery_message(&payload).expect("a message")]).await;
        fixture.erasing.erase(&keys[0], &[]).await.expect("erase");
        let stand = restore(&fixture, &records, FanOutEnd::Done).await;
        assert_eq!(stand, [Some(DeliveryStatus::Cancelled), Some(DeliveryStatus::Pending)]);
        let kept = fixture.store.reports.record(records[0].id).await.expect("read").expect("a record");
        assert_eq!((kept.recipient.as_str(), kept.status), (ERASED, DeliveryStatus::Cancelled));
        let now = progress(&fixture, request).await;
        assert_eq!((now.recorded, now.pending, now.cancelled), (RequestStatus::Dispatched, 1, 1));
        let queue = delivery_message(&payload).expect("a message").queue;
        let queued = fixture.outbox.store.on(&queue).take_all().await;
        let queued =
            queued.iter().find(|claimed| claimed.message.id.uuid() == records[0].id).expect("it waits");
        let left: NotificationMessage = serde_json::from_slice(queued.message.payload.bytes()).expect("JSON");
        assert_eq!(left.address, ERASED, "nothing of the address is left in the message");
    }
}

pub async fn a_missing_record_of_an_erased_member_of_a_segment_is_cancelled(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let gone = member();
    fixture.erasing.erase(&gone, &[]).await.expect("erase");
    let records = [pending(request, &gone), pending(request, &member())];
    let stand = restore(&fixture, &records, FanOutEnd::Done).await;
    assert_eq!(stand, [Some(DeliveryStatus::Cancelled), Some(DeliveryStatus::Pending)]);
    assert_eq!(restore(&fixture, &records, FanOutEnd::Done).await, stand);
    let now = progress(&fixture, request).await;
    assert_eq!((now.recorded, now.pending, now.cancelled), (RequestStatus::Dispatched, 1, 1));
}

pub async fn nothing_is_delivered_to_an_erased_recipient_of_an_unknown_request(fixture: NotificationFixture) {
    let (gone, unknown) = (member(), Uuid::now_v7());
    fixture.erasing.erase(&gone, &[]).await.expect("erase");
    let stand =
        restore(&fixture, &[pending(unknown, &gone), pending(unknown, &member())], FanOutEnd::Done).await;
    assert_eq!(stand, [Some(DeliveryStatus::Cancelled), None]);
}

pub async fn a_recipient_who_came_back_after_an_erasure_has_a_record_restored(fixture: NotificationFixture) {
    let key = member();
    let before = submitted(&fixture).await;
    fixture.erasing.erase(&key, &[]).await.expect("erase");
    fixture.outbox.advance(Duration::from_secs(60)).await;
    let after = submitted(&fixture).await;
    let records = [before, after].map(|request| pending(request, &key));
    let stand = restore(&fixture, &records, FanOutEnd::Done).await;
    assert_eq!(stand, [Some(DeliveryStatus::Cancelled), Some(DeliveryStatus::Pending)]);
    fixture.outbox.advance(Duration::from_secs(60)).await;
    fixture.erasing.erase(&key, &[]).await.expect("erase");
    let records = [NotificationRecord { id: Uuid::now_v7(), ..pending(after, &key) }];
    let stand = restore(&fixture, &records, FanOutEnd::Done).await;
    assert_eq!(stand, [Some(DeliveryStatus::Cancelled)], "erased once more");
}

/// Whichever comes first, and whether the recipient was erased once before and came back.
pub async fn an_erasure_during_a_restoration_leaves_the_record_cancelled(fixture: NotificationFixture) {
    for turn in 0..24 {
        let key = member();
        if turn % 2 == 1 {
            fixture.erasing.erase(&key, &[]).await.expect("erase");
            fixture.outbox.advance(Duration::from_secs(1)).await;
        }
        let request = submitted(&fixture).await;
        let records = [pending(request, &key)];
        let (erased, stand) =
            futures::join!(fixture.erasing.erase(&key, &[]), restore(&fixture, &records, FanOutEnd::Done));
        erased.expect("erase");
        assert!(
            matches!(stand[..], [Some(DeliveryStatus::Cancelled | DeliveryStatus::Pending)]),
            "{stand:?}"
        );
        let kept = fixture.store.reports.record(records[0].id).await.expect("read").expect("a record");
        assert_eq!((kept.recipient.as_str(), kept.status), (ERASED, DeliveryStatus::Cancelled));
    }
}

/// Restores records by the second instance, which did not note them.
async fn restore(
    fixture: &NotificationFixture,
    records: &[NotificationRecord],
    end: FanOutEnd,
) -> Vec<Option<DeliveryStatus>> {
    let all: Vec<_> = records.iter().map(|record| missing(record, end.clone())).collect();
    fixture.rival.messages.restore(&all).await.expect("restore")
}

fn missing(record: &NotificationRecord, end: FanOutEnd) -> MissingRecord {
    MissingRecord { record: record.clone(), end }
}

async fn submit(fixture: &NotificationFixture, request: NotificationRequest) -> Uuid {
    assert_eq!(fixture.store.submit(std::slice::from_ref(&request)).await, [Submitted::New]);
    request.id
}

/// The key of a user whom no request names.
fn member() -> String {
    Recipient::user(&Uuid::now_v7().to_string()).key
}

fn direct() -> DirectRecipient {
    DirectRecipient { email: Some(format!("{}@example.com", Uuid::now_v7())), ..DirectRecipient::default() }
}

fn pending(request_id: Uuid, recipient: &str) -> NotificationRecord {
    NotificationRecord {
        id: message_id(request_id, Channel::Email, recipient),
        request_id,
        channel: Channel::Email,
        recipient: recipient.to_owned(),
        status: DeliveryStatus::Pending,
        reason: None,
        reference: None,
    }
}
