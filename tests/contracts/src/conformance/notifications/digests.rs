//! Messages that wait to be delivered together.
//! Promise: of messages that come while digests are closed none is lost, and none is in two digests

use std::{collections::BTreeSet, time::Duration};

use claimstream_domain::{
    Claimed, QueueName,
    notification::{
        Channel, DeliveryStatus, FanOutEnd, MESSAGE_QUEUE, NotificationMessage, NotificationRecord,
        consent::Category,
        digest::{DigestItem, KeptItem, NewDigestItem},
        message_id,
    },
};
use claimstream_ports::notification::{DigestPlace, FanOutStep};
use uuid::Uuid;

use super::{
    messages::outcome,
    sample::{note, step, submitted},
};
use crate::{
    Instance, NotificationFixture, NotificationPorts,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
    items_of_one_recipient_are_one_message_of_the_outbox_when_the_window_is_over,
    an_item_that_comes_after_the_window_or_the_close_opens_the_next_digest_once,
    a_step_that_is_noted_again_adds_no_item_a_second_time,
    a_record_that_was_kept_without_an_item_goes_by_itself_and_once,
    a_cancelled_item_is_answered_as_cancelled_and_a_concluded_one_as_it_ended,
    an_erased_recipient_has_no_item_and_no_open_digest,
    a_digest_that_is_full_is_followed_by_another needs [Store],
    of_items_and_closes_at_a_time_none_is_lost_and_none_is_in_two_digests,
];

use DeliveryStatus::{Cancelled, Delivered, Failed, Pending};

const WINDOW: Duration = Duration::from_secs(60);

pub async fn items_of_one_recipient_are_one_message_of_the_outbox_when_the_window_is_over(
    fixture: NotificationFixture,
) {
    let (mut items, ports) = (Vec::new(), [&fixture.store, &fixture.rival]);
    for n in 0..4 {
        items.push(joined(&fixture, ports[n % 2], "a").await);
        fixture.outbox.advance(Duration::from_secs(1)).await;
    }
    let other = joined(&fixture, &fixture.store, "b").await;
    let queue = queue(&fixture);
    fixture.outbox.advance(WINDOW - Duration::from_secs(5)).await;
    queue.finds_nothing().await;
    fixture.outbox.advance(Duration::from_secs(2)).await;
    let due = queue.take_one().await;
    assert_eq!((due.message.id.uuid(), payload(&due).digest), (items[0].message.id, Some(items[0].key())));
    queue.ack(&due).await;
    fixture.outbox.advance(WINDOW).await;
    assert_eq!(queue.take_one().await.message.id.uuid(), other.message.id);
    let kept = items.iter().map(|item| KeptItem { item: item.clone(), status: Pending });
    let places = [place(&other), place(&items[0]), place(&items[1])];
    for ports in [&fixture.store, &fixture.rival] {
        let closed = ports.digests.close(&places).await.expect("close");
        assert_eq!(closed[0], [KeptItem { item: other.clone(), status: Pending }]);
        assert_eq!(closed[1], kept.clone().collect::<Vec<_>>());
        assert_eq!(closed[2], [], "the second item has opened none");
    }
}

/// Guard: closing a digest leaves later digests of its key open | adapters/sea-orm/src/sql/digests/close.sql:
/// no `digest_id`
/// Guard: no item joins a digest after its window | adapters/sea-orm/src/sql/digests/join.mysql.sql: no
/// `closes_at`; the same in join.sqlite.sql
pub async fn an_item_that_comes_after_the_window_or_the_close_opens_the_next_digest_once(
    fixture: NotificationFixture,
) {
    let first = joined(&fixture, &fixture.store, "a").await;
    fixture.outbox.advance(WINDOW).await;
    let second = joined(&fixture, &fixture.rival, "a").await;
    let with_second = joined(&fixture, &fixture.store, "a").await;
    assert_eq!(closed(&fixture.rival, &first).await, [(first.message.id, Pending)]);
    let later = joined(&fixture, &fixture.store, "a").await;
    let of_second = [second.message.id, with_second.message.id, later.message.id];
    let of_second = of_second.map(|id| (id, Pending));
    let mut found = closed(&fixture.store, &second).await;
    found.sort_unstable_by_key(|(id, _)| of_second.iter().position(|(known, _)| known == id));
    assert_eq!(found, of_second, "closing the first has left the second open");
    let third = joined(&fixture, &fixture.store, "a").await;
    assert_eq!(closed(&fixture.store, &third).await, [(third.message.id, Pending)]);
    let queue = queue(&fixture);
    fixture.outbox.advance(2 * WINDOW).await;
    let mut openers: Vec<_> = queue.take_all().await.iter().map(|due| due.message.id.uuid()).collect();
    let mut expected = [&first, &second, &third].map(|item| item.message.id);
    openers.sort_unstable();
    expected.sort_unstable();
    assert_eq!(openers, expected);
}

/// Guard: an item joins once | adapters/sea-orm/src/notifications/digests.rs `join`: every item is new
/// Guard: an item of a digest is not delivered alone | adapters/sea-orm/src/notifications/digests.rs
/// `enqueue_alone`: known items too
pub async fn a_step_that_is_noted_again_adds_no_item_a_second_time(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let of_a = by_id(vec![item(request, "a"), numbered(request, "a", 1)]);
    let of_b = vec![item(request, "b")];
    let step = with_items(request, &[of_a.clone(), of_b.clone()].concat());
    for ports in [&fixture.store, &fixture.rival, &fixture.store] {
        assert_eq!(note(ports, step.clone()).await.records, [Pending; 3]);
        fixture.outbox.advance(WINDOW).await;
    }
    assert_eq!(
        queue(&fixture).take_all().await.len(),
        2,
        "the second item of a digest has no message of its own"
    );
    for items in [of_a, of_b] {
        let ids: Vec<_> = items.iter().map(|item| (item.message.id, Pending)).collect();
        assert_eq!(closed(&fixture.store, &items[0]).await, ids);
    }
    note(&fixture.rival, step).await;
    assert_eq!(queue(&fixture).status().await.map_or(0, |status| status.depth), 2, "nor after the close");
}

pub async fn a_record_that_was_kept_without_an_item_goes_by_itself_and_once(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    let items = [item(request, "a"), item(request, "b")];
    let all = with_items(request, &items);
    note(&fixture.store, FanOutStep { items: vec![], ..all.clone() }).await;
    fixture.store.messages.conclude(&[outcome(items[1].message.id, Delivered)]).await.expect("conclude");
    for _ in 0..2 {
        assert_eq!(note(&fixture.rival, all.clone()).await.records, [Pending, Delivered]);
    }
    fixture.outbox.advance(Duration::from_secs(1)).await;
    let due = queue(&fixture).take_one().await;
    assert_eq!(payload(&due), items[0].message);
    queue(&fixture).finds_nothing().await;
    assert_eq!(closed(&fixture.store, &items[0]).await, []);
}

pub async fn a_cancelled_item_is_answered_as_cancelled_and_a_concluded_one_as_it_ended(
    fixture: NotificationFixture,
) {
    let (mut items, mut requests) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let request = submitted(&fixture).await;
        items.push(item(request, "a"));
        note(&fixture.store, with_items(request, &items[items.len() - 1..])).await;
        requests.push(request);
        fixture.outbox.advance(Duration::from_millis(1)).await;
    }
    // The one that opened the digest is called off: the others are delivered all the same.
    fixture.rival.requests.cancel(requests[0]).await.expect("cancel");
    let ids: Vec<Uuid> = items.iter().map(|item| item.message.id).collect();
    let stands = [(ids[0], Cancelled), (ids[1], Pending), (ids[2], Pending)];
    assert_eq!(closed(&fixture.store, &items[0]).await, stands);
    fixture
        .store
        .messages
        .conclude(&[outcome(ids[1], Delivered), outcome(ids[2], Failed)])
        .await
        .expect("end");
    let stands = [(ids[0], Cancelled), (ids[1], Delivered), (ids[2], Failed)];
    assert_eq!(closed(&fixture.rival, &items[0]).await, stands);
    fixture.outbox.advance(WINDOW).await;
    assert_eq!(queue(&fixture).take_one().await.message.id.uuid(), ids[0]);
}

pub async fn an_erased_recipient_has_no_item_and_no_open_digest(fixture: NotificationFixture) {
    let (erased, other) = (fixture.outbox.queue().as_str().to_owned(), "other");
    let gone = joined(&fixture, &fixture.store, &erased).await;
    let kept = joined(&fixture, &fixture.store, other).await;
    fixture.erasing.erase(&gone.message.recipient, &[]).await.expect("erase");
    assert_eq!(closed(&fixture.rival, &gone).await, []);
    let again = joined(&fixture, &fixture.store, &erased).await;
    assert_eq!(closed(&fixture.rival, &again).await, [(again.message.id, Pending)]);
    assert_eq!(closed(&fixture.rival, &kept).await, [(kept.message.id, Pending)]);
    fixture.outbox.advance(WINDOW).await;
    for due in queue(&fixture).take_all().await {
        let message = payload(&due);
        let is_gone = due.message.id.uuid() == gone.message.id;
        assert_eq!(message.recipient == gone.message.recipient, !is_gone && message.id != kept.message.id);
        assert_eq!(message.digest.is_none(), is_gone, "an erased one is no digest any more");
    }
}

/// Guard: no item joins a full digest | adapters/sea-orm/src/sql/digests/join.mysql.sql: no `items >= :most`;
/// the same in join.sqlite.sql
pub async fn a_digest_that_is_full_is_followed_by_another(fixture: NotificationFixture) {
    let request = submitted(&fixture).await;
    // Of one step they are one digest; the next step opens another.
    let all: Vec<_> = (0..DigestItem::MOST).map(|n| numbered(request, "a", n)).collect();
    let all = by_id(all);
    note(&fixture.store, with_items(request, &all)).await;
    let next = joined(&fixture, &fixture.rival, "a").await;
    assert_eq!(closed(&fixture.store, &all[0]).await.len(), all.len());
    assert_eq!(closed(&fixture.store, &next).await, [(next.message.id, Pending)]);
}

/// Steps that add items to the same digests in different orders, while others close these. What a close has answered is all that
/// is ever delivered of a digest, so nothing joins it later.
/// Guard: closing a digest deletes its row | adapters/sea-orm/src/sql/digests/close.sql: deletes nothing
pub async fn of_items_and_closes_at_a_time_none_is_lost_and_none_is_in_two_digests(
    fixture: NotificationFixture,
) {
    const USERS: [&str; 3] = ["a", "b", "c"];
    let (mut expected, mut places, mut answered) = (BTreeSet::new(), Vec::new(), Vec::new());
    for round in 0..8 {
        let (mut noting, mut now) = (Vec::new(), Vec::new());
        for n in 0..6 {
            let request = submitted(&fixture).await;
            let mut items = USERS.map(|user| item(request, user));
            items.rotate_left(n % 3);
            expected.extend(items.iter().map(|item| item.message.id));
            now.extend(items.iter().map(place));
            let ports = [&fixture.store, &fixture.rival][n % 2].clone();
            noting.push(tokio::spawn(async move { note(&ports, with_items(request, &items)).await }));
        }
        places.extend(now.clone());
        now.rotate_left(round);
        let closer = fixture.rival.digests.clone();
        // Whichever of them have opened a digest by then: it is closed, and those that come later open another.
        let closing = tokio::spawn(async move { (closer.close(&now).await.expect("close"), now) });
        for noted in noting {
            assert_eq!(noted.await.expect("a step").records, [Pending; 3]);
        }
        let (closed, now) = closing.await.expect("a close");
        answered.extend(now.into_iter().zip(closed).filter(|(_, items)| !items.is_empty()));
        fixture.outbox.advance(WINDOW / 4).await;
    }
    for (place, items) in answered {
        let again = fixture.store.digests.close(&[place]).await.expect("close");
        assert_eq!(again, [items], "an item has joined a digest that was closed");
    }
    let closed = fixture.store.digests.close(&places).await.expect("close");
    let ids: Vec<Uuid> = closed.iter().flatten().map(|kept| kept.item.message.id).collect();
    assert_eq!(ids.len(), expected.len());
    assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), expected);
    let opened = places.iter().zip(&closed).filter(|(_, items)| !items.is_empty());
    let opened: BTreeSet<Uuid> = opened.map(|(place, _)| place.id).collect();
    fixture.outbox.advance(2 * WINDOW).await;
    let due = queue(&fixture).take_all().await;
    assert_eq!(due.iter().map(|due| due.message.id.uuid()).collect::<BTreeSet<_>>(), opened);
}

fn by_id(mut items: Vec<DigestItem>) -> Vec<DigestItem> {
    items.sort_unstable_by_key(|item| item.message.id);
    items
}

fn queue(fixture: &NotificationFixture) -> Instance {
    fixture.outbox.store.on(&QueueName::new(MESSAGE_QUEUE).expect("a queue name"))
}

fn payload(due: &Claimed) -> NotificationMessage {
    serde_json::from_slice(due.message.payload.bytes()).expect("a message")
}

fn place(item: &DigestItem) -> DigestPlace {
    DigestPlace { key: item.key(), id: item.message.id }
}

/// The items of the digest that an item has opened.
async fn closed(ports: &NotificationPorts, opener: &DigestItem) -> Vec<(Uuid, DeliveryStatus)> {
    let closed = ports.digests.close(&[place(opener)]).await.expect("close");
    closed[0].iter().map(|kept| (kept.item.message.id, kept.status)).collect()
}

/// An item of a request of its own.
async fn joined(fixture: &NotificationFixture, ports: &NotificationPorts, user: &str) -> DigestItem {
    let request = submitted(fixture).await;
    let item = item(request, user);
    assert_eq!(note(ports, with_items(request, std::slice::from_ref(&item))).await.records, [Pending]);
    item
}

fn with_items(request: Uuid, items: &[DigestItem]) -> FanOutStep {
    let record = |DigestItem { message, .. }: &DigestItem| NotificationRecord {
        id: message.id,
        request_id: request,
        channel: message.channel,
        recipient: message.recipient.clone(),
        status: Pending,
        reason: None,
        reference: None,
    };
    let records: Vec<_> = items.iter().map(record).collect();
    let new = |item: &DigestItem| NewDigestItem { item: item.clone(), window: WINDOW };
    FanOutStep { items: items.iter().map(new).collect(), ..step(request, FanOutEnd::More, &records) }
}

fn item(request: Uuid, user: &str) -> DigestItem {
    numbered(request, user, 0)
}

/// One of several items of a user; a fan-out makes one.
fn numbered(request: Uuid, user: &str, n: u32) -> DigestItem {
    let (recipient, channel) = (format!("user:{user}"), Channel::Email);
    let id = message_id(request, channel, &format!("{recipient} {n}"));
    let frame = NotificationMessage::erased(id, request, channel);
    let category = Some(Category::new("news").expect("a category"));
    let message =
        NotificationMessage { recipient, category, address: format!("{user}@example.com"), ..frame };
    let params = [("n".to_owned(), n.to_string())].into();
    DigestItem { message, params, language: Some("de".into()) }
}
