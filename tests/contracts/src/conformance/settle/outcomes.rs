//! What becomes of a message that is acked, nacked, buried or released.

use std::time::Duration;

use claimstream_domain::{Reason, Settled::Accepted};

use crate::{
    Fixture, LEASE, ids,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<Fixture>] = cases!["settle" needs [Claims, Settlements]:
    an_acked_message_is_gone_for_good,
    a_nacked_message_comes_back_after_its_delay_and_not_after_its_lease,
    a_nack_longer_than_the_lease_holds,
    a_nack_without_a_delay_is_due_at_once,
    a_nacked_message_keeps_its_attempts,
    a_postponed_message_comes_back_after_its_delay_and_its_attempt_is_not_counted,
    a_buried_message_is_never_claimed_again_and_lies_with_the_dead_letters,
    a_released_message_is_as_it_was_before_the_claim,
    a_release_restores_the_order,
    a_release_uncounts_only_the_last_attempt,
    a_release_keeps_the_error_of_the_attempt_before,
    a_reason_of_the_greatest_length_comes_back_whole,
];

pub async fn an_acked_message_is_gone_for_good(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    assert_eq!(fixture.store.ack(&claimed).await, Accepted);
    fixture.advance(2 * LEASE).await;
    fixture.rival.finds_nothing().await;
    assert_eq!(fixture.rival.status().await, None);
    assert_eq!(fixture.rival.dead().await, []);
}

pub async fn a_nacked_message_comes_back_after_its_delay_and_not_after_its_lease(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    assert_eq!(fixture.store.nack(&claimed, Duration::from_secs(2), "later").await, Accepted);
    fixture.advance(Duration::from_micros(1_999_999)).await;
    fixture.rival.finds_nothing().await;
    fixture.advance(Duration::from_micros(1)).await;
    fixture.rival.take_one().await;
}

pub async fn a_nack_longer_than_the_lease_holds(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let hour = Duration::from_secs(3600);
    assert_eq!(fixture.store.nack(&claimed, hour, "much later").await, Accepted);
    fixture.advance(hour - Duration::from_micros(1)).await;
    fixture.rival.finds_nothing().await;
    fixture.advance(Duration::from_micros(1)).await;
    fixture.rival.take_one().await;
}

pub async fn a_nack_without_a_delay_is_due_at_once(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    assert_eq!(fixture.store.nack(&claimed, Duration::ZERO, "again").await, Accepted);
    assert_eq!(fixture.store.take_one().await.attempt, 2);
}

pub async fn a_nacked_message_keeps_its_attempts(fixture: Fixture) {
    fixture.enqueue(1).await;
    for attempt in 1..=4 {
        let claimed = fixture.store.take_one().await;
        assert_eq!(claimed.attempt, attempt);
        assert_eq!(fixture.store.nack(&claimed, Duration::from_secs(1), "no").await, Accepted);
        fixture.advance(Duration::from_secs(1)).await;
    }
}

pub async fn a_postponed_message_comes_back_after_its_delay_and_its_attempt_is_not_counted(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    assert_eq!(fixture.store.nack(&claimed, Duration::ZERO, "no").await, Accepted);
    for _ in 0..3 {
        let claimed = fixture.store.take_one().await;
        assert_eq!(claimed.attempt, 2);
        assert_eq!(fixture.store.postpone(&claimed, Duration::from_secs(2), "no room").await, Accepted);
        fixture.advance(Duration::from_micros(1_999_999)).await;
        fixture.rival.finds_nothing().await;
        fixture.advance(Duration::from_micros(1)).await;
    }
    let claimed = fixture.rival.take_one().await;
    assert_eq!((claimed.attempt, claimed.last_error), (2, Some(Reason::new("no room"))));
}

pub async fn a_buried_message_is_never_claimed_again_and_lies_with_the_dead_letters(fixture: Fixture) {
    let id = fixture.enqueue(1).await[0];
    let claimed = fixture.store.take_one().await;
    assert_eq!(fixture.store.bury(&claimed, "unreadable").await, Accepted);
    fixture.advance(2 * LEASE).await;
    fixture.rival.finds_nothing().await;
    let dead = fixture.rival.dead().await;
    assert_eq!(
        dead.iter().map(|d| (d.message.id, d.reason.as_str())).collect::<Vec<_>>(),
        [(id, "unreadable")]
    );
}

pub async fn a_released_message_is_as_it_was_before_the_claim(fixture: Fixture) {
    fixture.enqueue(1).await;
    let before = fixture.store.take_one().await;
    assert_eq!(fixture.store.release(&before).await, Accepted);
    let status = fixture.rival.status().await.expect("the queue holds a message");
    assert_eq!((status.due, status.leased, status.oldest), (1, 0, Some(Duration::from_micros(1))));
    let after = fixture.rival.take_one().await;
    assert_eq!(after.attempt, 1);
    assert_eq!(after.message, before.message);
    assert_eq!(after.last_error, None);
}

pub async fn a_release_restores_the_order(fixture: Fixture) {
    let sent = fixture.enqueue(4).await;
    let first = fixture.store.take(2).await;
    fixture.advance(Duration::from_secs(5)).await;
    assert_eq!(fixture.store.release(&first[0]).await, Accepted);
    assert_eq!(ids(&fixture.store.take(3).await), [sent[0], sent[2], sent[3]]);
}

pub async fn a_release_uncounts_only_the_last_attempt(fixture: Fixture) {
    fixture.enqueue(1).await;
    let first = fixture.store.take_one().await;
    let _ = fixture.store.nack(&first, Duration::ZERO, "no").await;
    let second = fixture.store.take_one().await;
    assert_eq!(fixture.store.release(&second).await, Accepted);
    assert_eq!(fixture.rival.take_one().await.attempt, 2);
}

pub async fn a_release_keeps_the_error_of_the_attempt_before(fixture: Fixture) {
    fixture.enqueue(1).await;
    let first = fixture.store.take_one().await;
    let _ = fixture.store.nack(&first, Duration::ZERO, "the first time").await;
    let second = fixture.store.take_one().await;
    assert_eq!(fixture.store.release(&second).await, Accepted);
    let third = fixture.rival.take_one().await;
    assert_eq!(third.last_error, Some(Reason::new("the first time")));
}

pub async fn a_reason_of_the_greatest_length_comes_back_whole(fixture: Fixture) {
    fixture.enqueue(1).await;
    let why = "\u{1f980}".repeat(Reason::MAX_CHARS);
    let first = fixture.store.take_one().await;
    assert_eq!(fixture.store.nack(&first, Duration::ZERO, &why).await, Accepted);
    let second = fixture.store.take_one().await;
    assert_eq!(second.last_error, Some(Reason::new(&why)));
    assert_eq!(fixture.store.bury(&second, &why).await, Accepted);
    assert_eq!(fixture.rival.dead().await[0].reason.as_str(), why);
}
