//! The addresses of recipients that are forgotten.
//! Promise: an address of an erased recipient stays suppressed, and no suppression says whose it was

use std::time::Duration;

use claimstream_domain::{
    QueueName,
    notification::{
        Channel, DirectRecipient, ERASED, FanOutEnd, MESSAGE_QUEUE, NotificationMessage, Recipient,
        consent::{Address, Suppression},
        delivery_message,
        digest::{DigestItem, NewDigestItem},
    },
};
use claimstream_ports::notification::FanOutStep;
use uuid::Uuid;

use super::{
    erasing::pending,
    sample::{note, step, submitted},
};
use crate::{
    NotificationFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
    an_erased_address_stays_suppressed_and_nothing_says_whose_it_was needs [Store],
    an_erased_address_stays_suppressed_of_a_user_whom_no_directory_of_the_store_knows,
];

pub async fn an_erased_address_stays_suppressed_and_nothing_says_whose_it_was(fixture: NotificationFixture) {
    let id = fixture.outbox.queue().as_str().to_owned();
    let (mail, phone) = (format!("{id}@example.com"), format!("+49{id}"));
    let user = Recipient { email: Some(mail.clone()), ..Recipient::user(&id) };
    let direct = DirectRecipient { phone: Some(phone.clone()), ..DirectRecipient::default() }.resolve();
    let addresses = [Address::new(Channel::Email, &mail), Address::new(Channel::Sms, &phone)];
    fixture.store.people.put(std::slice::from_ref(&user), None).await.expect("put");
    suppress(&fixture, &addresses).await;
    for key in [&user.key, &direct.key] {
        fixture.erasing.erase(key, &[]).await.expect("erase");
    }
    are_left_as_hashes(&fixture, &addresses).await;
}

/// The caller knows one of the addresses. The others are in payloads: in a message that is queued, in a dead letter, and, as it was spelled formerly, in
/// an item of a digest.
///
/// Guard: an address that the caller of an erasure names is forgotten | adapters/sea-orm/src/notifications/forgetting.rs `forget`: without
/// `addresses`
/// Guard: the addresses in the payloads of an erased recipient are forgotten | adapters/sea-orm/src/notifications/erasing.rs `leave_frames`: no
/// `forget_addresses`
/// Guard: the addresses in items of digests of an erased recipient are forgotten | adapters/sea-orm/src/sql/notifications/erase_payloads.sql: no
/// `claimstream_digest_item`
pub async fn an_erased_address_stays_suppressed_of_a_user_whom_no_directory_of_the_store_knows(
    fixture: NotificationFixture,
) {
    let name = Uuid::now_v7();
    let key = format!("user:{name}");
    let [first, second] = [submitted(&fixture).await, submitted(&fixture).await];
    let message = |request, channel, address: String| NotificationMessage {
        recipient: key.clone(),
        address,
        ..NotificationMessage::erased(pending(request, channel, &key).id, request, channel)
    };
    let opens = message(first, Channel::Email, format!("{name}@example.com"));
    let joins = message(second, Channel::Email, format!("\"{name}\"@example.com"));
    let queued = message(first, Channel::Push, format!("token of {name}"));
    let dead = message(first, Channel::Chat, format!("C-{name}"));
    for (messages, item) in [(&[&opens, &queued, &dead][..], &opens), (&[&joins], &joins)] {
        let records: Vec<_> = messages.iter().map(|one| pending(one.request_id, one.channel, &key)).collect();
        let item = DigestItem { message: item.clone(), params: Default::default(), language: None };
        let items = vec![NewDigestItem { item, window: Duration::from_secs(60) }];
        let step = step(messages[0].request_id, FanOutEnd::Done, &records);
        note(&fixture.store, FanOutStep { items, ..step }).await;
    }
    let messages = [&queued, &dead].map(|one| delivery_message(one).expect("a message"));
    fixture.outbox.store.enqueue(&messages).await;
    let queue = fixture.outbox.store.on(&QueueName::new(MESSAGE_QUEUE).expect("a queue"));
    for due in queue.take_all().await.iter().filter(|due| due.message.id.uuid() == dead.id) {
        queue.bury(due, "no such room").await;
    }

    let named = Address::new(Channel::Email, &format!("named.{name}@example.com"));
    let other = Address::new(Channel::Email, &format!("other.{name}@example.com"));
    let addresses = [
        named.clone(),
        Address::new(Channel::Push, &queued.address),
        Address::new(Channel::Chat, &dead.address),
        Address::stored(Channel::Email, &joins.address),
    ];
    suppress(&fixture, &[&addresses[..], std::slice::from_ref(&other)].concat()).await;
    let erased = fixture.erasing.erase(&key, std::slice::from_ref(&named)).await.expect("erase");
    assert_eq!((erased.records, erased.dead_letters), (4, 1));
    let listed = fixture.rival.suppressions.suppressed(None, 10_000).await.expect("a page");
    assert!(listed.iter().any(|one| one.address == other && one.note.is_some()), "{listed:?}");
    are_left_as_hashes(&fixture, &addresses).await;
}

async fn suppress(fixture: &NotificationFixture, addresses: &[Address]) {
    for address in addresses {
        let note = Some("550 Ann is unknown".to_owned());
        let suppressed = fixture.store.suppressions.suppress(address, Suppression::Bounced, note).await;
        suppressed.expect("suppress");
    }
}

/// Fails unless addresses are suppressed under their hashes and shown no more, and lifts them.
async fn are_left_as_hashes(fixture: &NotificationFixture, addresses: &[Address]) {
    let read = fixture.rival.preferences.consents(&[], addresses).await.expect("read");
    assert_eq!(read.suppressed, vec![Some(Suppression::Bounced); addresses.len()]);
    let listed = fixture.rival.suppressions.suppressed(None, 10_000).await.expect("a page");
    for address in addresses {
        let kept = listed.iter().find(|one| one.key == address.fingerprint()).expect("a row");
        assert_eq!((kept.address.as_str(), &kept.note), (ERASED, &None), "{address:?}");
        assert!(fixture.rival.suppressions.lift(address).await.expect("lift"));
    }
}
