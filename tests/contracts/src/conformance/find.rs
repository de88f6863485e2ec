//! Promise: the state of a message, its content and the owner of a dedup key are found without a scan of a
//! table

use std::time::Duration;

use claimstream_domain::{
    DedupKey, DedupKeyTaken, Headers, MessageCarried, MessageId, MessageStanding, MessageState, NewMessage,
    Payload, QueueName, Reason,
};
use uuid::Uuid;

use crate::suite::{Case, cases};
use crate::{Fixture, Instance, LEASE};

pub const CLAUSES: &[Case<Fixture>] = cases!["find" needs [Claims, Settlements, Unguarded]:
    each_message_is_found_where_it_stands,
    a_message_of_an_expired_lease_is_due needs [Sharing],
    a_message_that_is_finished_or_unknown_is_not_found,
    what_is_kept_of_a_message_is_read_by_its_id needs [Store],
    a_message_that_was_revived_is_known_to_be_as_old_as_it_is,
    the_message_that_has_taken_a_dedup_key_is_found_by_it,
];

pub async fn each_message_is_found_where_it_stands(fixture: Fixture) {
    let (hour, second) = (Duration::from_secs(3600), Duration::from_secs(1));
    let messages: Vec<_> = (0..4).map(|_| fixture.loose_message()).collect();
    fixture.store.enqueue(&messages).await;
    let later = fixture.loose_message().deliver_after(hour);
    fixture.store.enqueue(std::slice::from_ref(&later)).await;
    let claimed = fixture.store.take(4).await;
    let _ = fixture.store.nack(&claimed[0], hour, "busy").await;
    let _ = fixture.store.bury(&claimed[1], "never").await;
    let _ = fixture.store.release(&claimed[2]).await;
    fixture.advance(second).await;

    let of = async |id: MessageId| one(&fixture.rival, id).await.expect("it is found");
    let standing = of(claimed[0].message.id).await;
    assert_eq!(standing.state, MessageState::Retrying { due_in: hour - second });
    assert_eq!((standing.attempts, standing.last_error), (1, Some(Reason::new("busy"))));
    assert_eq!(&standing.queue, fixture.queue());
    let standing = of(claimed[1].message.id).await;
    assert_eq!(standing.state, MessageState::Dead { since: second });
    assert_eq!((standing.attempts, standing.last_error), (1, Some(Reason::new("never"))));
    let standing = of(claimed[2].message.id).await;
    assert!(matches!(standing.state, MessageState::Due { .. }) && standing.attempts == 0, "{standing:?}");
    let standing = of(claimed[3].message.id).await;
    let MessageState::Leased { ends_in, .. } = standing.state else { panic!("{standing:?}") };
    assert!(ends_in <= LEASE - second && standing.attempts == 1, "{ends_in:?}");
    let standing = of(later.id).await;
    assert_eq!(standing.state, MessageState::Scheduled { due_in: hour - second });
    assert_eq!((standing.attempts, standing.last_error), (0, None));
    // Answers stand in the order of the question.
    let ids = [later.id, claimed[1].message.id, later.id];
    let found = fixture.rival.ports.find.find(&ids).await.expect("find");
    assert_eq!(found.into_iter().flatten().map(|it| it.id).collect::<Vec<_>>(), ids);
}

pub async fn a_message_of_an_expired_lease_is_due(fixture: Fixture) {
    fixture.enqueue(1).await;
    let id = fixture.store.take_one().await.message.id;
    fixture.advance(LEASE + Duration::from_secs(1)).await;
    let standing = one(&fixture.rival, id).await.expect("it is found");
    assert!(matches!(standing.state, MessageState::Due { .. }), "{standing:?}");
}

pub async fn a_message_that_is_finished_or_unknown_is_not_found(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let _ = fixture.store.ack(&claimed).await;
    assert_eq!(one(&fixture.rival, claimed.message.id).await, None);
    assert_eq!(one(&fixture.rival, MessageId::new(Uuid::from_u128(7))).await, None);
    assert_eq!(fixture.rival.ports.find.find(&[]).await.expect("find"), []);
}

pub async fn what_is_kept_of_a_message_is_read_by_its_id(fixture: Fixture) {
    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut headers = Headers::new();
    headers.insert("x-tenant", "seven").expect("a header");
    headers.set_trace(TRACE, None).expect("a trace");
    let payload = Payload::new("text/plain", "grüße".as_bytes().to_vec()).expect("a payload");
    let message = NewMessage::new(fixture.loose_message().id, fixture.queue().clone(), payload.clone());
    let message = message.with_headers(headers.clone()).ordered_by("account-7".parse().expect("a key"));
    let plain = fixture.loose_message();
    fixture.store.enqueue(&[message.clone(), plain.clone()]).await;
    fixture.advance(Duration::from_secs(1)).await;

    let read = &fixture.rival.ports.read;
    let kept = read.kept(message.id).await.expect("kept").expect("it is kept");
    assert_eq!((kept.id, &kept.queue), (message.id, fixture.queue()));
    assert_eq!((kept.ordering_key, kept.traceparent.as_deref()), (message.ordering_key, Some(TRACE)));
    assert_eq!((kept.content_type.as_str(), kept.bytes), ("text/plain", 7));
    assert_eq!((kept.stored, kept.first_stored), (Duration::from_secs(1), None));
    let carried = read.carried(message.id).await.expect("carried").expect("it is kept");
    assert_eq!(carried, MessageCarried { headers, payload });

    let kept = read.kept(plain.id).await.expect("kept").expect("it is kept");
    assert_eq!((kept.ordering_key, kept.traceparent), (None, None));
    let none = MessageId::new(Uuid::from_u128(7));
    assert_eq!(read.kept(none).await.expect("kept"), None);
    assert_eq!(read.carried(none).await.expect("carried"), None);
}

pub async fn a_message_that_was_revived_is_known_to_be_as_old_as_it_is(fixture: Fixture) {
    let second = Duration::from_secs(1);
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    fixture.advance(second).await;
    let _ = fixture.store.bury(&claimed, "no").await;
    fixture.advance(second).await;
    assert_eq!(fixture.store.revive(&fixture.store.own_dead()).await, 1);
    fixture.advance(second).await;
    let kept = fixture.rival.ports.read.kept(claimed.message.id).await.expect("kept").expect("it is kept");
    assert_eq!(kept.stored, second);
    let first = kept.first_stored.expect("it was revived");
    assert!((3 * second..4 * second).contains(&first), "{first:?}");
}

pub async fn the_message_that_has_taken_a_dedup_key_is_found_by_it(fixture: Fixture) {
    let key: DedupKey = "order-7' OR 1=1 --".parse().expect("a key");
    let message = fixture.loose_message().unique_by(key.clone());
    fixture.store.enqueue(std::slice::from_ref(&message)).await;
    fixture.advance(Duration::from_secs(1)).await;
    let claimed = fixture.store.take_one().await;
    let _ = fixture.store.ack(&claimed).await;
    let keyed = async |queue: &QueueName, key: &DedupKey| {
        fixture.rival.ports.read.keyed(queue, key).await.expect("keyed")
    };
    // The key outlives its message.
    let taken = DedupKeyTaken { by: message.id, ago: Duration::from_secs(1) };
    assert_eq!(keyed(fixture.queue(), &key).await, Some(taken));
    let other = QueueName::new("another-queue").expect("a name");
    assert_eq!(keyed(&other, &key).await, None);
    assert_eq!(keyed(fixture.queue(), &"order-8".parse().expect("a key")).await, None);
}

async fn one(instance: &Instance, id: MessageId) -> Option<MessageStanding> {
    instance.ports.find.find(&[id]).await.expect("find").remove(0)
}
