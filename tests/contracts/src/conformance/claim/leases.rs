//! How long a claim holds, and what the next one finds.

use std::time::Duration;

use claimstream_domain::Lease;

use crate::{
    Fixture, LEASE,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<Fixture>] = cases!["claim" needs [Claims]:
    a_lease_holds_to_its_last_microsecond,
    a_lease_that_has_run_out_is_due_again,
    a_lease_is_counted_from_the_claim,
    the_shortest_and_the_longest_lease_hold,
    a_reclaimed_message_has_one_more_attempt_and_a_new_receipt,
    attempts_count_at_claim_so_a_crash_loop_is_seen,
    a_claim_tells_why_the_attempt_before_failed,
];

pub async fn a_lease_holds_to_its_last_microsecond(fixture: Fixture) {
    fixture.enqueue(1).await;
    fixture.store.take_one().await;
    fixture.advance(LEASE - Duration::from_micros(1)).await;
    fixture.rival.finds_nothing().await;
    fixture.store.finds_nothing().await;
}

pub async fn a_lease_that_has_run_out_is_due_again(fixture: Fixture) {
    let id = fixture.enqueue(1).await[0];
    fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    assert_eq!(fixture.rival.take_one().await.message.id, id);
    fixture.advance(LEASE + Duration::from_micros(1)).await;
    assert_eq!(fixture.store.take_one().await.message.id, id);
}

pub async fn a_lease_is_counted_from_the_claim(fixture: Fixture) {
    fixture.enqueue(1).await;
    fixture.advance(Duration::from_secs(600)).await;
    fixture.store.take_one().await;
    fixture.advance(LEASE - Duration::from_micros(1)).await;
    fixture.rival.finds_nothing().await;
}

pub async fn the_shortest_and_the_longest_lease_hold(fixture: Fixture) {
    for lease in [Lease::MIN, Lease::MAX] {
        let id = fixture.enqueue(1).await[0];
        fixture.store.take_for(1, lease).await;
        fixture.advance(lease - Duration::from_micros(1)).await;
        fixture.rival.finds_nothing().await;
        fixture.advance(Duration::from_micros(1)).await;
        let again = fixture.rival.take_one().await;
        assert_eq!(again.message.id, id);
        let _ = fixture.rival.ack(&again).await;
    }
}

pub async fn a_reclaimed_message_has_one_more_attempt_and_a_new_receipt(fixture: Fixture) {
    fixture.enqueue(1).await;
    let first = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let second = fixture.rival.take_one().await;
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_ne!(first.receipt.claim, second.receipt.claim);
    assert_eq!(first.message, second.message);
}

pub async fn attempts_count_at_claim_so_a_crash_loop_is_seen(fixture: Fixture) {
    fixture.enqueue(1).await;
    for attempt in 1..=5 {
        assert_eq!(fixture.store.take_one().await.attempt, attempt);
        fixture.advance(LEASE).await;
    }
}

pub async fn a_claim_tells_why_the_attempt_before_failed(fixture: Fixture) {
    fixture.enqueue(2).await;
    let claimed = fixture.store.take(2).await;
    let _ = fixture.store.nack(&claimed[0], Duration::from_secs(1), "no answer").await;
    let _ = fixture.store.nack(&claimed[1], Duration::from_secs(2), "bad answer").await;
    fixture.advance(Duration::from_secs(2)).await;
    let again = fixture.rival.take(2).await;
    let why: Vec<_> = again.iter().map(|c| c.last_error.as_ref().map(|r| r.as_str())).collect();
    assert_eq!(why, [Some("no answer"), Some("bad answer")]);
}
