//! When a message is due, and which of the due ones comes first.
//! Promise: a claim reports how long its message has been due; a retry waits from its own due time

use std::time::Duration;

use crate::{
    Fixture, ids,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<Fixture>] = cases!["claim" needs [Claims]:
    the_oldest_due_time_comes_first_within_a_shard,
    a_delayed_message_is_due_to_the_microsecond,
    a_scheduled_message_is_due_to_the_microsecond,
    a_message_scheduled_in_the_past_is_due_at_once,
    a_message_that_was_due_before_younger_ones_goes_first_after_two_seconds_at_the_latest,
    a_claim_says_how_long_its_message_has_been_due,
    a_retry_waits_from_its_own_due_time,
];

pub async fn the_oldest_due_time_comes_first_within_a_shard(fixture: Fixture) {
    let seconds = [40_u64, 10, 30, 20, 50];
    let delayed = |s: &u64| fixture.message().deliver_after(Duration::from_secs(*s));
    let messages: Vec<_> = seconds.iter().map(delayed).collect();
    fixture.store.enqueue(&messages).await;
    fixture.advance(Duration::from_secs(60)).await;
    let expected = [1, 3, 2, 0, 4].map(|n: usize| messages[n].id);
    assert_eq!(ids(&fixture.store.take_all().await), expected);
}

pub async fn a_delayed_message_is_due_to_the_microsecond(fixture: Fixture) {
    fixture.store.enqueue(&[fixture.message().deliver_after(Duration::from_secs(10))]).await;
    fixture.advance(Duration::from_micros(9_999_999)).await;
    fixture.store.finds_nothing().await;
    fixture.advance(Duration::from_micros(1)).await;
    fixture.rival.take_one().await;
}

pub async fn a_scheduled_message_is_due_to_the_microsecond(fixture: Fixture) {
    let moment = fixture.moment(3_600_000_007);
    fixture.store.enqueue(&[fixture.message().deliver_at(moment)]).await;
    fixture.advance(Duration::from_micros(3_600_000_006)).await;
    fixture.store.finds_nothing().await;
    fixture.advance(Duration::from_micros(1)).await;
    fixture.rival.take_one().await;
}

pub async fn a_message_scheduled_in_the_past_is_due_at_once(fixture: Fixture) {
    let past = fixture.moment(-86_400_000_000);
    fixture.store.enqueue(&[fixture.message().deliver_at(past)]).await;
    fixture.store.take_one().await;
}

pub async fn a_message_that_was_due_before_younger_ones_goes_first_after_two_seconds_at_the_latest(
    fixture: Fixture,
) {
    let younger = fixture.enqueue(4).await;
    assert_eq!(ids(&fixture.store.take(2).await), younger[..2]);
    let older = fixture.message().deliver_at(fixture.moment(-5_000_000));
    fixture.rival.enqueue(std::slice::from_ref(&older)).await;
    fixture.advance(Duration::from_secs(2)).await;
    assert_eq!(ids(&fixture.store.take(2).await), [older.id, younger[2]]);
}

pub async fn a_claim_says_how_long_its_message_has_been_due(fixture: Fixture) {
    let seconds = Duration::from_secs;
    let delayed = fixture.message().deliver_after(seconds(10));
    fixture.store.enqueue(&[fixture.message(), delayed.clone()]).await;
    fixture.advance(seconds(4)).await;
    assert_eq!(fixture.store.take_one().await.waited, seconds(4));
    fixture.advance(seconds(6) + Duration::from_micros(7)).await;
    let claimed = fixture.store.take_one().await;
    assert_eq!((claimed.message.id, claimed.waited), (delayed.id, Duration::from_micros(7)));
}

pub async fn a_retry_waits_from_its_own_due_time(fixture: Fixture) {
    let seconds = Duration::from_secs;
    fixture.enqueue(1).await;
    fixture.advance(seconds(5)).await;
    let claimed = fixture.store.take_one().await;
    fixture.advance(seconds(1)).await;
    let _ = fixture.store.nack(&claimed, seconds(60), "busy").await;
    fixture.advance(seconds(62)).await;
    let again = fixture.store.take_one().await;
    assert_eq!((again.attempt, again.waited), (2, seconds(2)));
}
