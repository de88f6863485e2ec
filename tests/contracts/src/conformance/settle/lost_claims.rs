//! Settlements of claims that have run out, were lost, or never were.

use std::time::Duration;

use claimstream_domain::{
    ClaimId, InstanceId, Receipt,
    Settled::{Accepted, Superseded},
};

use super::dispositions::dispositions;
use crate::{
    Fixture, LEASE,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<Fixture>] = cases!["settle" needs [Claims, Settlements]:
    an_expired_claim_that_was_not_taken_is_still_settled,
    a_settlement_of_a_lost_claim_is_superseded_and_changes_nothing,
    what_is_given_back_too_late_is_taken_off_the_count_once,
    what_is_given_back_too_late_and_then_claimed_twice_is_left_alone,
    an_older_claim_of_the_same_instance_is_superseded,
    a_late_ack_does_not_undo_the_new_holders_ack,
    a_forged_claim_id_is_superseded,
    a_message_that_never_was_is_superseded,
];

pub async fn an_expired_claim_that_was_not_taken_is_still_settled(fixture: Fixture) {
    fixture.enqueue(4).await;
    let claimed = fixture.store.take(4).await;
    fixture.advance(2 * LEASE).await;
    for (claimed, disposition) in claimed.iter().zip(dispositions()) {
        assert_eq!(fixture.store.settle(&claimed.receipt, disposition).await, Accepted);
    }
}

pub async fn a_settlement_of_a_lost_claim_is_superseded_and_changes_nothing(fixture: Fixture) {
    fixture.enqueue(4).await;
    let lost = fixture.store.take(4).await;
    fixture.advance(LEASE).await;
    let held = fixture.rival.take(4).await;
    for (lost, disposition) in lost.iter().zip(dispositions()) {
        assert_eq!(fixture.store.settle(&lost.receipt, disposition).await, Superseded);
    }
    fixture.store.finds_nothing().await;
    assert_eq!(fixture.store.dead().await, []);
    fixture.advance(LEASE - Duration::from_micros(1)).await;
    fixture.store.finds_nothing().await;
    for held in &held {
        assert_eq!((held.attempt, fixture.rival.ack(held).await), (2, Accepted));
    }
}

/// Guard: an uncounted attempt is taken off the next claim | adapters/sea-orm/src/strategy/shared/take_back.rs:
/// `take_back` does nothing; the same in adapters/memory/src/tables/outbox.rs
/// Guard: an attempt is taken off once | adapters/sea-orm/src/sql/settle/uncount.sql: no microsecond;
/// shard_lease/uncount.sql: the mark stays; in memory `claimed_from` stays
pub async fn what_is_given_back_too_late_is_taken_off_the_count_once(fixture: Fixture) {
    fixture.enqueue(1).await;
    for _ in 0..2 {
        let failed = fixture.store.take_one().await;
        assert_eq!(fixture.store.nack(&failed, Duration::from_secs(1), "busy").await, Accepted);
        fixture.advance(Duration::from_secs(1)).await;
    }
    let late = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let held = fixture.rival.take_one().await;
    assert_eq!((late.attempt, held.attempt), (3, 4));
    for _ in 0..3 {
        assert_eq!(fixture.store.release(&late).await, Superseded);
    }
    assert_eq!(fixture.rival.nack(&held, Duration::from_secs(1), "busy").await, Accepted);
    fixture.advance(Duration::from_secs(1)).await;
    let next = fixture.rival.take_one().await;
    assert_eq!(next.attempt, 4, "three have failed");
    assert_eq!(fixture.rival.ack(&next).await, Accepted);
}

pub async fn what_is_given_back_too_late_and_then_claimed_twice_is_left_alone(fixture: Fixture) {
    fixture.enqueue(1).await;
    let late = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let held = fixture.rival.take_one().await;
    assert_eq!(fixture.rival.nack(&held, Duration::from_secs(1), "busy").await, Accepted);
    fixture.advance(Duration::from_secs(1)).await;
    let next = fixture.rival.take_one().await;
    assert_eq!(next.attempt, 3);
    assert_eq!(fixture.store.release(&late).await, Superseded);
    assert_eq!(fixture.rival.nack(&next, Duration::ZERO, "busy").await, Accepted);
    assert_eq!(fixture.rival.take_one().await.attempt, 4);
}

pub async fn an_older_claim_of_the_same_instance_is_superseded(fixture: Fixture) {
    fixture.enqueue(1).await;
    let older = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let newer = fixture.store.take_one().await;
    assert_eq!(older.receipt.claim.instance(), newer.receipt.claim.instance());
    for disposition in dispositions() {
        assert_eq!(fixture.store.settle(&older.receipt, disposition).await, Superseded);
    }
    assert_eq!(fixture.store.ack(&newer).await, Accepted);
}

pub async fn a_late_ack_does_not_undo_the_new_holders_ack(fixture: Fixture) {
    fixture.enqueue(1).await;
    let late = fixture.store.take_one().await;
    fixture.advance(LEASE + Duration::from_secs(10)).await;
    let held = fixture.rival.take_one().await;
    assert_eq!(fixture.rival.ack(&held).await, Accepted);
    assert_eq!(fixture.store.ack(&late).await, Superseded);
    assert_eq!(fixture.store.nack(&late, Duration::ZERO, "late").await, Superseded);
    assert_eq!(fixture.store.release(&late).await, Superseded);
    fixture.store.finds_nothing().await;
    assert_eq!(fixture.store.status().await, None);
}

/// Guard: a statement that settles asks for the claim id | adapters/sea-orm/src/sql/settle/done.sql: no
/// condition on it; the same in done_whole.sql, retry.sql and release.sql
pub async fn a_forged_claim_id_is_superseded(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let forged = Receipt { claim: ClaimId::new(InstanceId(33), 7), ..claimed.receipt.clone() };
    for disposition in dispositions() {
        assert_eq!(fixture.rival.settle(&forged, disposition).await, Superseded);
    }
    assert_eq!(fixture.store.ack(&claimed).await, Accepted);
}

pub async fn a_message_that_never_was_is_superseded(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let nowhere = Receipt { message: fixture.message().id, ..claimed.receipt };
    for disposition in dispositions() {
        assert_eq!(fixture.store.settle(&nowhere, disposition).await, Superseded);
    }
}
