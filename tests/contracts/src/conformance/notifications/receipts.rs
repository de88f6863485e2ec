//! What providers say of messages after they have taken them.
//! Promise: a receipt is kept once, also if it comes twice, in two processes at once, or before the record of
//! its delivery; a bounce or a complaint suppresses its address in the same transaction, also when its message
//! is gone, and while the message is kept no repetition reverses what a person has lifted

use std::time::Duration;

use claimstream_domain::notification::{
    Answer, Channel, DeliveryReceipt, DeliveryStatus, ERASED, FanOutEnd, NotificationMessage,
    NotificationRecord, ReceiptKind, ReceiptOf, ReceiptTaken, Submitted,
    consent::{Address, Suppression},
    delivery_message, message_id,
    provider::ProviderName,
};
use claimstream_ports::notification::DeliveryAttempt;
use futures::future::join_all;
use uuid::Uuid;

use super::sample::{note, plain_request, step};
use crate::{
    NotificationFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
    receipts_of_a_message_are_kept_once_each_in_whatever_order_they_come,
    a_receipt_finds_its_message_by_our_id_or_by_its_providers_reference,
    a_receipt_that_is_faster_than_the_note_of_its_delivery_waits_for_it,
    a_receipt_that_matches_no_message_is_forgotten,
    a_bounce_suppresses_the_address_once_with_the_receipt,
    the_address_of_a_kept_payload_is_suppressed_if_the_receipt_names_none,
    a_complaint_that_comes_after_its_message_was_forgotten_suppresses_the_address,
    receipts_of_one_message_that_come_at_once_are_kept_once,
    many_receipts_are_taken_in_one_call,
];

const MINUTE: Duration = Duration::from_secs(60);

pub async fn receipts_of_a_message_are_kept_once_each_in_whatever_order_they_come(
    fixture: NotificationFixture,
) {
    use ReceiptKind::{Delivered, Opened, Sent};
    use ReceiptTaken::{Known, New};
    let message = delivered(&fixture, "a", "sid-1").await;
    let said = |kind| DeliveryReceipt { said_at: Some("12:00".into()), ..of_reference("sid-1", kind) };
    let taken = fixture.store.receipts.take(&[said(Opened), said(Sent), said(Opened)]).await.expect("take");
    assert_eq!(taken, [New, New, Known]);
    fixture.outbox.advance(MINUTE).await;
    let later = DeliveryReceipt { said_at: Some("13:00".into()), ..said(Sent) };
    let taken = fixture.rival.receipts.take(&[later, said(Delivered)]).await.expect("take again");
    assert_eq!(taken, [Known, New]);
    let facts = fixture.rival.receipts.facts(&[Uuid::now_v7(), message]).await.expect("facts");
    assert_eq!(facts[0], []);
    let kinds: Vec<_> = facts[1].iter().map(|fact| fact.kind).collect();
    assert_eq!(kinds, [Sent, Opened, Delivered]);
    assert!(facts[1][..2].iter().all(|fact| fact.ago == MINUTE && fact.said_at.as_deref() == Some("12:00")));
    assert_eq!(facts[1][2].ago, Duration::ZERO);
    assert_eq!(ReceiptKind::standing(kinds), Some(Opened));
}

pub async fn a_receipt_finds_its_message_by_our_id_or_by_its_providers_reference(
    fixture: NotificationFixture,
) {
    let message = delivered(&fixture, "a", "sid-1").await;
    let other = delivered(&fixture, "b", &"ü".repeat(200)).await;
    let by_id =
        |id| DeliveryReceipt { of: ReceiptOf::Message(id), ..of_reference("", ReceiptKind::Delivered) };
    let another_provider = DeliveryReceipt {
        provider: ProviderName::new("other").expect("a name"),
        ..of_reference("sid-1", ReceiptKind::Bounced)
    };
    let receipts = [
        by_id(message),
        by_id(Uuid::now_v7()),
        of_reference(&"ü".repeat(200), ReceiptKind::Opened),
        another_provider,
        of_reference("SID-1", ReceiptKind::Bounced),
    ];
    let taken = fixture.store.receipts.take(&receipts).await.expect("take");
    use ReceiptTaken::{New, Unknown, Waiting};
    assert_eq!(taken, [New, Unknown, New, Waiting, Waiting]);
    assert_eq!(kinds(&fixture, message).await, [ReceiptKind::Delivered]);
    assert_eq!(kinds(&fixture, other).await, [ReceiptKind::Opened]);
    // A reference that is used again is that of the newest delivery.
    fixture.outbox.advance(MINUTE).await;
    let newest = delivered(&fixture, "c", "sid-1").await;
    fixture.rival.receipts.take(&[of_reference("sid-1", ReceiptKind::Sent)]).await.expect("take");
    assert_eq!(kinds(&fixture, newest).await, [ReceiptKind::Sent]);
}

/// Guard: an address that was suppressed before its record was there is spelled later | adapters/sea-orm/src/sql/preferences/suppress.sql:
/// no `COALESCE`; in memory `taken`: no `spell`
pub async fn a_receipt_that_is_faster_than_the_note_of_its_delivery_waits_for_it(
    fixture: NotificationFixture,
) {
    use ReceiptKind::{Bounced, Delivered};
    let early = [
        of_reference("sid-1", Delivered),
        on_mail("Ann@example.com", of_reference("sid-1", Bounced)),
        of_reference("another sender's", Delivered),
    ];
    for _ in 0..2 {
        assert_eq!(fixture.store.receipts.take(&early).await.expect("take"), [ReceiptTaken::Waiting; 3]);
    }
    assert_eq!(fixture.rival.receipts.take_waiting(MINUTE, 9).await.expect("nothing yet"), 0);
    assert_eq!(suppressed(&fixture).await, [(ERASED.to_owned(), Suppression::Bounced)]);
    let message = delivered(&fixture, "a", "sid-1").await;
    fixture.outbox.advance(MINUTE).await;
    assert_eq!(fixture.rival.receipts.take_waiting(MINUTE / 2, 9).await.expect("too old"), 0);
    let (one, other) = (&fixture.store.receipts, &fixture.rival.receipts);
    let both = join_all([one.take_waiting(MINUTE, 9), other.take_waiting(MINUTE, 9)]).await;
    let taken: u64 = both.into_iter().map(|taken| taken.expect("take what waits")).sum();
    assert_eq!(taken, 2);
    assert_eq!(kinds(&fixture, message).await, [Delivered, Bounced]);
    let facts = fixture.store.receipts.facts(&[message]).await.expect("facts");
    assert!(
        facts[0].iter().all(|fact| fact.ago == MINUTE),
        "when it came, and not when it was kept: {facts:?}"
    );
    assert_eq!(suppressed(&fixture).await, [("ann@example.com".to_owned(), Suppression::Bounced)]);
    assert_eq!(one.take_waiting(MINUTE, 9).await.expect("nothing is left"), 0);
}

pub async fn a_receipt_that_matches_no_message_is_forgotten(fixture: NotificationFixture) {
    let receipts = &fixture.store.receipts;
    receipts
        .take(&[of_reference("x", ReceiptKind::Sent), of_reference("y", ReceiptKind::Sent)])
        .await
        .expect("take");
    fixture.outbox.advance(MINUTE).await;
    receipts.take(&[of_reference("z", ReceiptKind::Sent)]).await.expect("take");
    assert_eq!(receipts.forget_waiting(MINUTE, 9).await.expect("forget"), 0, "not a moment too early");
    fixture.outbox.advance(Duration::from_millis(1)).await;
    assert_eq!(receipts.forget_waiting(MINUTE, 1).await.expect("forget"), 1);
    assert_eq!(receipts.forget_waiting(MINUTE, 9).await.expect("forget"), 1);
    let message = delivered(&fixture, "a", "x").await;
    let last = delivered(&fixture, "b", "z").await;
    assert_eq!(fixture.rival.receipts.take_waiting(2 * MINUTE, 9).await.expect("take"), 1);
    assert_eq!((kinds(&fixture, message).await.len(), kinds(&fixture, last).await.len()), (0, 1));
}

pub async fn a_bounce_suppresses_the_address_once_with_the_receipt(fixture: NotificationFixture) {
    use ReceiptKind::{Bounced, Complained, SoftBounced, Unsubscribed};
    let message = delivered(&fixture, "a", "sid-1").await;
    let said = |kind, address: &str| DeliveryReceipt {
        address: Some(address.into()),
        note: Some("550 no such user".into()),
        ..of_reference("sid-1", kind)
    };
    let soft = said(SoftBounced, "ann@example.com");
    fixture.store.receipts.take(&[soft]).await.expect("a soft bounce");
    assert_eq!(suppressed(&fixture).await, []);
    let bounce = said(Bounced, "Ann <Ann@Example.com>");
    fixture.store.receipts.take(std::slice::from_ref(&bounce)).await.expect("a bounce");
    assert_eq!(suppressed(&fixture).await, [("ann@example.com".to_owned(), Suppression::Bounced)]);
    let address = Address::new(Channel::Email, "ann@example.com");
    let kept = fixture.rival.suppressions.suppressed(None, 9).await.expect("suppressed");
    assert_eq!(kept[0].note.as_deref(), Some("550 no such user"));
    assert!(fixture.rival.suppressions.lift(&address).await.expect("lift"));
    let again = fixture.store.receipts.take(&[bounce]).await.expect("the same bounce");
    assert_eq!(again, [ReceiptTaken::Known]);
    assert_eq!(suppressed(&fixture).await, [], "a person has lifted it");
    let others = [said(Unsubscribed, "ann@example.com"), said(Complained, "ann@example.com")];
    fixture.store.receipts.take(&others).await.expect("a complaint");
    assert_eq!(suppressed(&fixture).await, [("ann@example.com".to_owned(), Suppression::Complained)]);
    assert_eq!(ReceiptKind::standing(kinds(&fixture, message).await), Some(Complained));
}

pub async fn the_address_of_a_kept_payload_is_suppressed_if_the_receipt_names_none(
    fixture: NotificationFixture,
) {
    let (kept, gone) = (delivered(&fixture, "a", "sid-1").await, delivered(&fixture, "b", "sid-2").await);
    let frame = NotificationMessage::erased(kept, Uuid::now_v7(), Channel::Email);
    let payload = NotificationMessage { address: "bea@example.com".into(), ..frame };
    fixture.outbox.store.enqueue(&[delivery_message(&payload).expect("a message")]).await;
    let bounces = ["sid-1", "sid-2"].map(|reference| of_reference(reference, ReceiptKind::Bounced));
    fixture.rival.receipts.take(&bounces).await.expect("take");
    assert_eq!(suppressed(&fixture).await, [("bea@example.com".to_owned(), Suppression::Bounced)]);
    for message in [kept, gone] {
        assert_eq!(kinds(&fixture, message).await, [ReceiptKind::Bounced]);
    }
}

/// Guard: an address is suppressed without its message | adapters/sea-orm/src/notifications/receipts.rs `keep`: no `suppressed_alone`; in
/// memory `taken`: no `suppress_alone`
/// Guard: an address without a message is not spelled | adapters/sea-orm/src/notifications/receipts/suppressing.rs `suppressed_alone`:
/// `Spelling::Always`
pub async fn a_complaint_that_comes_after_its_message_was_forgotten_suppresses_the_address(
    fixture: NotificationFixture,
) {
    use ReceiptKind::{Bounced, Complained, SoftBounced, Unsubscribed};
    let gone = |kind| DeliveryReceipt {
        of: ReceiptOf::Message(Uuid::now_v7()),
        note: Some("Ann is unknown".into()),
        ..of_reference("", kind)
    };
    let idle = [
        on_mail("ann@example.com", gone(SoftBounced)),
        DeliveryReceipt { channel: Some(Channel::Email), ..gone(Bounced) },
        DeliveryReceipt { address: Some("ann@example.com".into()), ..gone(Bounced) },
    ];
    assert_eq!(fixture.store.receipts.take(&idle).await.expect("take"), [ReceiptTaken::Unknown; 3]);
    assert_eq!(suppressed(&fixture).await, [], "no address, no channel, or no reason to suppress it");
    let of_swept = |kind| DeliveryReceipt { of: ReceiptOf::Reference("sid-1".into()), ..gone(kind) };
    for (address, receipt, reason) in [
        ("Ann <Ann@Example.com>", gone(Complained), Suppression::Complained),
        ("\"bea\"@example.com", of_swept(Unsubscribed), Suppression::Unsubscribed),
    ] {
        let receipt = on_mail(address, receipt);
        for _ in 0..2 {
            fixture.rival.receipts.take(std::slice::from_ref(&receipt)).await.expect("take");
        }
        let [kept] = &fixture.store.suppressions.suppressed(None, 9).await.expect("suppressed")[..] else {
            panic!("{address} alone is suppressed");
        };
        let address = Address::new(Channel::Email, address);
        assert_eq!((kept.key, kept.reason), (address.fingerprint(), reason));
        assert_eq!((kept.address.as_str(), kept.note.as_deref()), (ERASED, None), "it may have been erased");
        assert!(fixture.store.suppressions.lift(&address).await.expect("lift"));
    }
    // What a person has added stays as it is written.
    let (known, note) = (Address::new(Channel::Email, "cay@example.com"), Some("by phone".to_owned()));
    fixture.store.suppressions.suppress(&known, Suppression::Unsubscribed, note.clone()).await.expect("add");
    fixture.rival.receipts.take(&[on_mail("Cay@example.com", gone(Bounced))]).await.expect("take");
    let kept = fixture.store.suppressions.suppressed(None, 9).await.expect("suppressed");
    assert_eq!((kept.len(), &kept[0].address, kept[0].reason), (1, &known, Suppression::Bounced));
    assert_eq!(kept[0].note, note);
}

/// Guard: receipts of a message are taken one after another | adapters/sea-orm/src/sql/receipts/lock.sql: no
/// `{for_update}`; fails on servers
pub async fn receipts_of_one_message_that_come_at_once_are_kept_once(fixture: NotificationFixture) {
    let message = delivered(&fixture, "a", "sid-1").await;
    for kind in ReceiptKind::ALL {
        let said = DeliveryReceipt { address: Some("ann@example.com".into()), ..of_reference("sid-1", kind) };
        let said = [said];
        let calls = (0..8).map(|n| {
            let receipts = if n % 2 == 0 { &fixture.store.receipts } else { &fixture.rival.receipts };
            receipts.take(&said)
        });
        let taken: Vec<_> = join_all(calls).await.into_iter().map(|taken| taken.expect("take")[0]).collect();
        let new = taken.iter().filter(|taken| **taken == ReceiptTaken::New).count();
        assert_eq!(new, 1, "{taken:?}");
    }
    assert_eq!(kinds(&fixture, message).await, ReceiptKind::ALL);
}

pub async fn many_receipts_are_taken_in_one_call(fixture: NotificationFixture) {
    let message = delivered(&fixture, "a", "sid-1").await;
    let mut receipts: Vec<_> =
        (0..450).map(|n| of_reference(&format!("foreign {n}"), ReceiptKind::Sent)).collect();
    receipts.push(of_reference("sid-1", ReceiptKind::Delivered));
    let taken = fixture.store.receipts.take(&receipts).await.expect("take");
    assert_eq!(taken.iter().filter(|taken| **taken == ReceiptTaken::Waiting).count(), 450);
    assert_eq!(kinds(&fixture, message).await, [ReceiptKind::Delivered]);
    let refused = of_reference("", ReceiptKind::Sent);
    assert!(fixture.store.receipts.take(&[refused]).await.is_err(), "a receipt without a reference");
    assert_eq!(fixture.store.receipts.take(&[]).await.expect("nothing"), []);
}

/// A mail that the provider has taken under this reference.
async fn delivered(fixture: &NotificationFixture, user: &str, reference: &str) -> Uuid {
    let request = plain_request(3);
    assert_eq!(fixture.store.submit(std::slice::from_ref(&request)).await, [Submitted::New]);
    let recipient = format!("user:{user}");
    let id = message_id(request.id, Channel::Email, &recipient);
    let record = NotificationRecord {
        id,
        request_id: request.id,
        channel: Channel::Email,
        recipient,
        status: DeliveryStatus::Pending,
        reason: None,
        reference: None,
    };
    note(&fixture.store, step(request.id, FanOutEnd::Done, &[record])).await;
    let attempt = DeliveryAttempt {
        message: id,
        claim: Uuid::now_v7(),
        call: 1,
        number: 1,
        provider: primary(),
        ago: Duration::ZERO,
        took: Duration::ZERO,
        answer: Answer::DELIVERED,
        reason: None,
        reference: Some(reference.to_owned()),
    };
    fixture.store.attempts.note(&[attempt]).await.expect("note");
    id
}

fn primary() -> ProviderName {
    ProviderName::new("primary").expect("a name")
}

fn of_reference(reference: &str, kind: ReceiptKind) -> DeliveryReceipt {
    let of = ReceiptOf::Reference(reference.to_owned());
    DeliveryReceipt { provider: primary(), of, kind, channel: None, address: None, said_at: None, note: None }
}

/// The receipt of a provider of mails that names this address.
fn on_mail(address: &str, receipt: DeliveryReceipt) -> DeliveryReceipt {
    DeliveryReceipt { channel: Some(Channel::Email), address: Some(address.into()), ..receipt }
}

async fn kinds(fixture: &NotificationFixture, message: Uuid) -> Vec<ReceiptKind> {
    let facts = fixture.rival.receipts.facts(&[message]).await.expect("facts");
    facts[0].iter().map(|fact| fact.kind).collect()
}

async fn suppressed(fixture: &NotificationFixture) -> Vec<(String, Suppression)> {
    let found = fixture.rival.suppressions.suppressed(None, 99).await.expect("suppressed");
    found.into_iter().map(|one| (one.address.as_str().to_owned(), one.reason)).collect()
}
