use std::time::Duration;

use claimstream_domain::{MessageId, MessageStanding, MessageState, Reason};
use uuid::Uuid;

use crate::suite::{Case, cases};
use crate::{Fixture, Instance, LEASE};

pub const CLAUSES: &[Case<Fixture>] = cases!["find" needs [Claims, Unguarded]:
    each_message_is_found_where_it_stands,
    a_message_of_an_expired_lease_is_due needs [Sharing],
    a_message_that_is_finished_or_unknown_is_not_found,
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

async fn one(instance: &Instance, id: MessageId) -> Option<MessageStanding> {
    instance.ports.find.find(&[id]).await.expect("find").remove(0)
}
