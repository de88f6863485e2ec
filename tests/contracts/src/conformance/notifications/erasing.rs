//! Recipients that are forgotten: their addresses and what they read go, and the counts stay.
//! Promise: an erased user is in no directory, request, record, payload, dead letter, inbox or text of a
//! provider, and the counts stay; a fan-out, a receipt or a suppression that comes later reveals nothing of
//! it

use std::time::Duration;

use claimstream_domain::{
    Reason,
    notification::{
        Answer, Channel, Content, DeliveryReceipt, DeliveryStatus, DirectRecipient, ERASED, FanOutEnd,
        InAppPage, NewInAppEntry, NotificationMessage, NotificationRecord, NotificationRequest, ReceiptKind,
        ReceiptOf, ReceiptTaken, Recipient, RecipientReference, RequestStatus, Submitted,
        consent::{Address, PreferenceChange, Preferences, Suppression},
        delivery_message, message_id,
        provider::ProviderName,
    },
};
use claimstream_ports::notification::{DeliveryAttempt, Erased, FanOutStep};
use uuid::Uuid;

use super::{
    messages::outcome,
    sample::{note, plain_request, progress, read, step},
};
use crate::{
    NotificationFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
    an_erased_recipient_is_in_no_request_and_no_record_and_the_counts_stay needs [Store],
    what_is_pending_for_an_erased_recipient_is_cancelled needs [Store],
    a_step_that_read_its_request_before_an_erasure_is_not_noted needs [Store],
    an_erased_request_is_still_distinct_from_another_one needs [Store],
    erasing_again_or_an_unknown_recipient_changes_nothing needs [Store],
    an_erased_recipient_leaves_no_inbox_and_no_words_of_providers,
    what_a_delivery_writes_after_an_erasure_says_nothing,
    a_receipt_that_comes_after_an_erasure_leaves_nothing_but_a_hash_of_the_address,
    an_erased_user_is_in_no_directory_and_wants_nothing needs [Store],
];

pub async fn an_erased_user_is_in_no_directory_and_wants_nothing(fixture: NotificationFixture) {
    let id = fixture.outbox.queue().as_str().to_owned();
    let user = Recipient { email: Some(format!("{id}@example.com")), ..Recipient::user(&id) };
    let off: PreferenceChange = "any/marketing=off".parse().expect("a change");
    let ports = &fixture.store;
    ports.people.put(std::slice::from_ref(&user), Some(id.clone())).await.expect("put");
    ports.preferences.change(&user.key, &[off]).await.expect("change");
    for _ in 0..2 {
        fixture.erasing.erase(&user.key, &[]).await.expect("erase");
        assert_eq!(fixture.rival.people.entry(&id).await.expect("an entry"), None);
        let wants = fixture.rival.preferences.consents(std::slice::from_ref(&user.key), &[]).await;
        assert_eq!(wants.expect("preferences").preferences, [Preferences::default()]);
    }
    ports.people.put(std::slice::from_ref(&user), None).await.expect("put");
    let entry = fixture.rival.people.entry(&id).await.expect("an entry").expect("a user");
    assert!(entry.segments.is_empty(), "{entry:?}");
}

pub async fn an_erased_recipient_is_in_no_request_and_no_record_and_the_counts_stay(
    fixture: NotificationFixture,
) {
    let (person, alone, shared) = people(&fixture).await;
    let before = [progress(&fixture, alone.id).await, progress(&fixture, shared.id).await];
    let erased = fixture.erasing.erase(&person.key, &[]).await.expect("erase");
    assert_eq!((erased.requests, erased.records), (2, 3));
    let kept = read(&fixture.rival, alone.id).await.request;
    let text = serde_json::to_string(&kept).expect("JSON");
    assert!(!text.contains(&person.email) && !text.contains("title 1"), "{text}");
    let kept = read(&fixture.rival, shared.id).await.request;
    let text = serde_json::to_string(&kept).expect("JSON");
    assert!(!text.contains(&person.email) && text.contains("title 2") && text.contains("vip"), "{text}");
    for (request, before) in [&alone, &shared].into_iter().zip(before) {
        let records = fixture.rival.reports.messages(request.id, None, 9).await.expect("messages");
        assert!(records.iter().all(|record| !record.recipient.contains(&person.email)), "{records:?}");
        assert!(records.iter().all(|record| record.recipient != ERASED || record.reference.is_none()));
        assert_eq!(progress(&fixture, request.id).await.total(), before.total());
    }
    assert_eq!(progress(&fixture, alone.id).await.delivered, 1);
}

pub async fn what_is_pending_for_an_erased_recipient_is_cancelled(fixture: NotificationFixture) {
    let (person, _, shared) = people(&fixture).await;
    fixture.erasing.erase(&person.key, &[]).await.expect("erase");
    let after = progress(&fixture, shared.id).await;
    assert_eq!((after.pending, after.cancelled), (1, 2), "the other one is on its way");
}

/// Guard: a fan-out step is compared with erasures when it is recorded |
/// adapters/sea-orm/src/notifications/fan_outs.rs `is_outdated`: false; in memory `note`: no comparison
pub async fn a_step_that_read_its_request_before_an_erasure_is_not_noted(fixture: NotificationFixture) {
    let (first, other) = (direct(), direct());
    for more in [FanOutEnd::Done, FanOutEnd::More] {
        let recipients = [&first, &other].map(|one| RecipientReference::Direct(one.clone())).to_vec();
        let [erased, neighbour] =
            [1, 2].map(|n| NotificationRequest { recipients: recipients.clone(), ..plain_request(n) });
        assert_eq!(fixture.store.submit(&[erased.clone(), neighbour.clone()]).await.len(), 2);
        let record = |request, key: &str| pending(request, Channel::Email, key);
        for (n, gone) in [&first, &other].map(|one| one.clone().resolve().key).into_iter().enumerate() {
            let read = read(&fixture.store, erased.id).await.request;
            assert_eq!(read.erased_places(), n);
            fixture.erasing.erase(&gone, &[]).await.expect("erase");
            let late =
                FanOutStep { erased_places: n, ..step(erased.id, more.clone(), &[record(erased.id, &gone)]) };
            let steps = [late.clone(), step(neighbour.id, more.clone(), &[])];
            let noted = fixture.rival.requests.note_steps(&steps).await.expect("note");
            assert_eq!(
                (noted[0].outdated, noted[0].records.len(), noted[0].status),
                (true, 0, Some(RequestStatus::Pending))
            );
            assert!(!noted[1].outdated);
            assert_eq!(progress(&fixture, erased.id).await.total(), 0);
        }
        let again =
            FanOutStep { erased_places: 2, ..step(erased.id, more, &[record(erased.id, "user:(erased)")]) };
        assert!(!note(&fixture.store, again).await.outdated);
        assert_eq!(progress(&fixture, erased.id).await.pending, 1);
    }
}

pub async fn an_erased_request_is_still_distinct_from_another_one(fixture: NotificationFixture) {
    let (person, alone, shared) = people(&fixture).await;
    fixture.erasing.erase(&person.key, &[]).await.expect("erase");
    let other = NotificationRequest { memo: Some("another".into()), ..alone.clone() };
    let answers = fixture.rival.submit(&[alone, shared, other]).await;
    assert_eq!(answers, [Submitted::Replayed, Submitted::Replayed, Submitted::Conflict]);
}

pub async fn erasing_again_or_an_unknown_recipient_changes_nothing(fixture: NotificationFixture) {
    let (person, alone, _) = people(&fixture).await;
    fixture.erasing.erase(&person.key, &[]).await.expect("erase");
    let kept = read(&fixture.rival, alone.id).await;
    for key in [person.key.as_str(), "user:unknown"] {
        assert_eq!(fixture.erasing.erase(key, &[]).await.expect("erase"), Erased::default());
    }
    assert_eq!(read(&fixture.rival, alone.id).await, kept);
}

pub async fn an_erased_recipient_leaves_no_inbox_and_no_words_of_providers(fixture: NotificationFixture) {
    let (gone, other) =
        (delivered_to("u-gone", &fixture).await.id, delivered_to("u-other", &fixture).await.id);
    // Its record is gone with its request, and the entry is there still.
    let of_a_swept_request = NewInAppEntry { id: Uuid::now_v7(), ..entry("u-gone", Uuid::now_v7()) };
    fixture.store.in_app.put(&[of_a_swept_request]).await.expect("put");
    fixture.erasing.erase("user:u-gone", &[]).await.expect("erase");
    for (user, entries) in [("u-gone", 0), ("u-other", 1)] {
        let page = InAppPage { user: user.into(), only_unread: false, after: None, limit: 9 };
        assert_eq!(fixture.rival.in_app.page(&page).await.expect("page").len(), entries, "{user}");
    }
    for (message, said) in [(gone, ERASED), (other, "no mailbox u-other")] {
        let attempts = fixture.rival.attempts.attempts(&[message]).await.expect("attempts");
        let said_of: Vec<_> = attempts.iter().map(|one| one.reason.as_ref().map(Reason::as_str)).collect();
        assert_eq!(said_of, [Some(said), None]);
        let names: Vec<_> = attempts.into_iter().filter_map(|one| one.reference).collect();
        assert_eq!(names.is_empty(), said == ERASED, "{names:?}");
        let facts = fixture.rival.receipts.facts(&[message]).await.expect("facts");
        assert_eq!(facts[0].is_empty(), said == ERASED, "{facts:?}");
    }
}

/// Guard: an entry that comes after an erasure is in no inbox | adapters/sea-orm/src/notifications/in_app.rs `insert`: no `filter`
/// Guard: nothing is said of an end after an erasure | adapters/sea-orm/src/sql/notifications/message_conclude_each.mysql.sql and
/// message_conclude_each.sqlite.sql: no `CASE`
pub async fn what_a_delivery_writes_after_an_erasure_says_nothing(fixture: NotificationFixture) {
    let request = plain_request(3);
    assert_eq!(fixture.store.submit(std::slice::from_ref(&request)).await, [Submitted::New]);
    let records: Vec<_> =
        (0..20).map(|n| pending(request.id, Channel::InApp, &format!("user:u-late-{n}"))).collect();
    note(&fixture.store, step(request.id, FanOutEnd::Done, &records)).await;
    for n in 0..20 {
        fixture.erasing.erase(&format!("user:u-late-{n}"), &[]).await.expect("erase");
    }
    // One alone, and as many as one statement concludes alike.
    for records in [&records[..1], &records[1..]] {
        let entries: Vec<_> = records.iter().map(|record| entry("u-late", record.id)).collect();
        fixture.store.in_app.put(&entries).await.expect("put");
        let ends: Vec<_> = records.iter().map(|one| outcome(one.id, DeliveryStatus::Delivered)).collect();
        fixture.store.messages.conclude(&ends).await.expect("conclude");
    }
    let page = InAppPage { user: "u-late".into(), only_unread: false, after: None, limit: 99 };
    assert_eq!(fixture.rival.in_app.page(&page).await.expect("page"), []);
    let kept = fixture.rival.reports.messages(request.id, None, 99).await.expect("messages");
    assert!(
        kept.iter().all(|one| one.status == DeliveryStatus::Delivered && one.reference.is_none()),
        "{kept:?}"
    );
}

pub async fn a_receipt_that_comes_after_an_erasure_leaves_nothing_but_a_hash_of_the_address(
    fixture: NotificationFixture,
) {
    let NotificationRecord { id: message, request_id: request, .. } = delivered_to("u-gone", &fixture).await;
    assert_eq!(progress(&fixture, request).await.receipts.of(ReceiptKind::Delivered), 1);
    fixture.erasing.erase("user:u-gone", &[]).await.expect("erase");
    let after = progress(&fixture, request).await;
    assert!(after.receipts.is_empty() && after.delivered == 1, "{after:?}");
    let address = Address::new(Channel::InApp, &format!("{}@example.com", fixture.outbox.queue().as_str()));
    let erased = Address::new(Channel::InApp, ERASED);
    let said = |address: Option<&Address>, kind| DeliveryReceipt {
        provider: ProviderName::new("primary").expect("a name"),
        of: ReceiptOf::Message(message),
        kind,
        channel: None,
        address: address.map(|address| address.as_str().to_owned()),
        said_at: None,
        note: Some("550 u-gone is unknown".into()),
    };
    // The payload that is left names no address.
    let payload = NotificationMessage::erased(message, request, Channel::InApp);
    fixture.outbox.store.enqueue(&[delivery_message(&payload).expect("a message")]).await;
    let late = [
        said(None, ReceiptKind::Bounced),
        said(Some(&address), ReceiptKind::Opened),
        said(Some(&address), ReceiptKind::Bounced),
        said(Some(&address), ReceiptKind::Complained),
    ];
    for _ in 0..2 {
        assert_eq!(fixture.rival.receipts.take(&late).await.expect("take"), [ReceiptTaken::Unknown; 4]);
    }
    assert_eq!(fixture.rival.receipts.facts(&[message]).await.expect("facts"), [vec![]]);
    assert_eq!(progress(&fixture, request).await, after);
    let ours = [&address, &erased].map(|one| one.fingerprint());
    let listed = fixture.rival.suppressions.suppressed(None, 10_000).await.expect("a page");
    let listed: Vec<_> = listed.into_iter().filter(|one| ours.contains(&one.key)).collect();
    let [kept] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!((kept.key, kept.reason), (address.fingerprint(), Suppression::Complained));
    assert_eq!((kept.address.as_str(), kept.note.as_deref()), (ERASED, None));
    assert!(fixture.rival.suppressions.lift(&address).await.expect("lift"));
}

/// A message that was delivered to a user's inbox at the second attempt.
async fn delivered_to(user: &str, fixture: &NotificationFixture) -> NotificationRecord {
    let request = plain_request(3);
    assert_eq!(fixture.store.submit(std::slice::from_ref(&request)).await, [Submitted::New]);
    let record = pending(request.id, Channel::InApp, &format!("user:{user}"));
    let id = record.id;
    note(&fixture.store, step(request.id, FanOutEnd::Done, std::slice::from_ref(&record))).await;
    let attempt = |number: u32, answer: Answer| DeliveryAttempt {
        message: id,
        claim: Uuid::now_v7(),
        call: 1,
        number,
        provider: ProviderName::new("primary").expect("a name"),
        ago: Duration::from_secs(u64::from(9 - number)),
        took: Duration::ZERO,
        answer,
        reason: (answer != Answer::DELIVERED).then(|| Reason::new(format!("no mailbox {user}"))),
        reference: (answer == Answer::DELIVERED).then(|| format!("sid of {user}")),
    };
    let attempts = [attempt(1, Answer::LATER), attempt(2, Answer::DELIVERED)];
    fixture.store.attempts.note(&attempts).await.expect("note");
    fixture.store.in_app.put(&[entry(user, id)]).await.expect("put");
    fixture.store.messages.conclude(&[outcome(id, DeliveryStatus::Delivered)]).await.expect("conclude");
    let of = ReceiptOf::Message(id);
    let provider = ProviderName::new("primary").expect("a name");
    let kind = ReceiptKind::Delivered;
    let receipt =
        DeliveryReceipt { provider, of, kind, channel: None, address: None, said_at: None, note: None };
    fixture.store.receipts.take(&[receipt]).await.expect("a receipt");
    record
}

fn entry(user: &str, id: Uuid) -> NewInAppEntry {
    let content = Content { title: Some(format!("Hello {user}")), ..Content::default() };
    NewInAppEntry { id, request_id: Uuid::now_v7(), user: user.into(), content }
}

fn direct() -> DirectRecipient {
    DirectRecipient { email: Some(format!("{}@example.com", Uuid::now_v7())), ..DirectRecipient::default() }
}

pub(super) fn pending(request_id: Uuid, channel: Channel, recipient: &str) -> NotificationRecord {
    NotificationRecord {
        id: message_id(request_id, channel, recipient),
        request_id,
        channel,
        recipient: recipient.to_owned(),
        status: DeliveryStatus::Pending,
        reason: None,
        reference: None,
    }
}

struct Person {
    key: String,
    email: String,
}

/// A recipient with a request of its own, delivered, and with another one to several recipients, on its way on two channels.
async fn people(fixture: &NotificationFixture) -> (Person, NotificationRequest, NotificationRequest) {
    let direct = direct();
    let email = direct.email.clone().expect("an address");
    let key = direct.resolve().key;
    let alone = NotificationRequest {
        recipients: vec![RecipientReference::Direct(direct.clone())],
        ..plain_request(1)
    };
    let mut shared = plain_request(2);
    shared.recipients.push(RecipientReference::Direct(direct));
    assert_eq!(fixture.store.submit(&[alone.clone(), shared.clone()]).await.len(), 2);
    let first = pending(alone.id, Channel::Email, &key);
    note(&fixture.store, step(alone.id, FanOutEnd::Done, std::slice::from_ref(&first))).await;
    let delivered = outcome(first.id, DeliveryStatus::Delivered);
    fixture.store.messages.conclude(&[delivered]).await.expect("conclude");
    let others = [
        pending(shared.id, Channel::Email, &key),
        pending(shared.id, Channel::Push, &key),
        pending(shared.id, Channel::Push, "user:user-2"),
    ];
    note(&fixture.store, step(shared.id, FanOutEnd::Done, &others)).await;
    (Person { key, email }, alone, shared)
}
