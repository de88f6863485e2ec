use std::time::Duration;

use claimstream_domain::{
    ClaimId, Disposition, InstanceId, Receipt,
    Renewed::{self, Extended, Superseded},
    Settled::Accepted,
};

use super::settle::dispositions::{dispositions, done};
use crate::suite::{Case, cases};
use crate::{Fixture, LEASE};

pub const CLAUSES: &[Case<Fixture>] = cases!["renew" needs [Claims, Settlements]:
    a_renewed_claim_lasts_a_whole_lease_from_now,
    a_renewal_may_bring_the_end_nearer,
    a_claim_can_be_renewed_again_and_again,
    a_renewed_receipt_names_the_same_claim,
    a_renewal_counts_no_attempt,
    a_renewed_claim_is_settled_by_its_new_receipt,
    a_release_after_a_renewal_restores_the_time_before_the_claim,
    an_expired_claim_that_was_not_taken_is_renewed,
    a_renewal_of_a_lost_claim_is_superseded_and_changes_nothing,
    an_older_claim_of_the_same_instance_is_not_renewed,
    a_forged_claim_id_is_not_renewed,
    a_settled_claim_is_not_renewed,
    renewals_are_answered_in_the_order_of_their_entries needs [Sharing],
    a_large_batch_is_renewed_whole,
    an_empty_renewal_has_an_empty_answer,
];

const MICRO: Duration = Duration::from_micros(1);

pub async fn a_renewed_claim_lasts_a_whole_lease_from_now(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    fixture.advance(LEASE - MICRO).await;
    extended(fixture.store.renew(&claimed.receipt, LEASE).await);
    fixture.advance(LEASE - MICRO).await;
    fixture.rival.finds_nothing().await;
    fixture.advance(MICRO).await;
    fixture.rival.take_one().await;
}

pub async fn a_renewal_may_bring_the_end_nearer(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let short = Duration::from_secs(3);
    extended(fixture.store.renew(&claimed.receipt, short).await);
    fixture.advance(short - MICRO).await;
    fixture.rival.finds_nothing().await;
    fixture.advance(MICRO).await;
    fixture.rival.take_one().await;
}

pub async fn a_claim_can_be_renewed_again_and_again(fixture: Fixture) {
    fixture.enqueue(1).await;
    let mut receipt = fixture.store.take_one().await.receipt;
    for _ in 0..6 {
        fixture.advance(LEASE / 3).await;
        receipt = extended(fixture.store.renew(&receipt, LEASE).await);
        fixture.rival.finds_nothing().await;
    }
    assert_eq!(fixture.store.settle(&receipt, done()).await, Accepted);
}

pub async fn a_renewed_receipt_names_the_same_claim(fixture: Fixture) {
    fixture.enqueue(1).await;
    let old = fixture.store.take_one().await.receipt;
    let new = extended(fixture.store.renew(&old, LEASE).await);
    assert_eq!(Receipt { locator: old.locator, ..new }, old);
}

pub async fn a_renewal_counts_no_attempt(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    extended(fixture.store.renew(&claimed.receipt, LEASE).await);
    fixture.advance(LEASE).await;
    assert_eq!(fixture.rival.take_one().await.attempt, 2);
}

pub async fn a_renewed_claim_is_settled_by_its_new_receipt(fixture: Fixture) {
    fixture.enqueue(4).await;
    let dispositions = dispositions();
    for (claimed, disposition) in fixture.store.take(4).await.iter().zip(dispositions) {
        fixture.advance(Duration::from_secs(1)).await;
        let receipt = extended(fixture.store.renew(&claimed.receipt, LEASE).await);
        assert_eq!(fixture.store.settle(&receipt, disposition).await, Accepted);
    }
}

pub async fn a_release_after_a_renewal_restores_the_time_before_the_claim(fixture: Fixture) {
    let sent = fixture.enqueue(3).await;
    let claimed = fixture.store.take(1).await.remove(0);
    fixture.advance(Duration::from_secs(7)).await;
    let receipt = extended(fixture.store.renew(&claimed.receipt, LEASE).await);
    let returned = Disposition::Returned;
    assert_eq!(fixture.store.settle(&receipt, returned).await, Accepted);
    let found = fixture.store.take(3).await;
    assert_eq!(found.iter().map(|c| c.message.id).collect::<Vec<_>>(), sent);
    assert_eq!(found[0].attempt, 1);
}

pub async fn an_expired_claim_that_was_not_taken_is_renewed(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    fixture.advance(2 * LEASE).await;
    extended(fixture.store.renew(&claimed.receipt, LEASE).await);
    fixture.rival.finds_nothing().await;
}

pub async fn a_renewal_of_a_lost_claim_is_superseded_and_changes_nothing(fixture: Fixture) {
    fixture.enqueue(1).await;
    let lost = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let held = fixture.rival.take_one().await;
    assert_eq!(fixture.store.renew(&lost.receipt, 100 * LEASE).await, Superseded);
    fixture.advance(LEASE - MICRO).await;
    fixture.store.finds_nothing().await;
    extended(fixture.rival.renew(&held.receipt, LEASE).await);
    fixture.advance(LEASE).await;
    assert_eq!(fixture.store.take_one().await.attempt, 3);
}

pub async fn an_older_claim_of_the_same_instance_is_not_renewed(fixture: Fixture) {
    fixture.enqueue(1).await;
    let older = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let newer = fixture.store.take_one().await;
    assert_eq!(fixture.store.renew(&older.receipt, LEASE).await, Superseded);
    extended(fixture.store.renew(&newer.receipt, LEASE).await);
}

/// Guard: a renewal asks for the claim id | adapters/sea-orm/src/sql/settle/renew.sql: no condition on it
pub async fn a_forged_claim_id_is_not_renewed(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let forged = Receipt { claim: ClaimId::new(InstanceId(33), 8), ..claimed.receipt };
    assert_eq!(fixture.rival.renew(&forged, 100 * LEASE).await, Superseded);
    fixture.advance(LEASE).await;
    fixture.rival.take_one().await;
}

pub async fn a_settled_claim_is_not_renewed(fixture: Fixture) {
    fixture.enqueue(4).await;
    let claimed = fixture.store.take(4).await;
    for (claimed, disposition) in claimed.iter().zip(dispositions()) {
        assert_eq!(fixture.store.settle(&claimed.receipt, disposition).await, Accepted);
        assert_eq!(fixture.store.renew(&claimed.receipt, 100 * LEASE).await, Superseded);
    }
    fixture.advance(Duration::from_secs(77)).await;
    assert_eq!(fixture.rival.take_all().await.len(), 2, "the nacked and the released message are due");
}

pub async fn renewals_are_answered_in_the_order_of_their_entries(fixture: Fixture) {
    fixture.enqueue(5).await;
    let claimed = fixture.store.take(5).await;
    let _ = fixture.store.ack(&claimed[1]).await;
    let _ = fixture.store.bury(&claimed[3], "no").await;
    let receipts: Vec<_> = [4, 3, 2, 1, 0].map(|n: usize| claimed[n].receipt.clone()).into();
    let renewed = fixture.rival.renew_all(&receipts, LEASE).await;
    let messages: Vec<_> = renewed
        .iter()
        .map(|renewed| match renewed {
            Extended(receipt) => Some(receipt.message),
            Superseded | Renewed::Unknown => None,
        })
        .collect();
    let id = |n: usize| Some(claimed[n].message.id);
    assert_eq!(messages, [id(4), None, id(2), None, id(0)]);
}

pub async fn a_large_batch_is_renewed_whole(fixture: Fixture) {
    let sent: Vec<_> = (0..300).map(|_| fixture.loose_message()).collect();
    fixture.store.enqueue(&sent).await;
    let receipts: Vec<_> = fixture.store.take_all().await.into_iter().map(|c| c.receipt).collect();
    fixture.advance(LEASE - MICRO).await;
    let renewed = fixture.store.renew_all(&receipts, LEASE).await;
    assert_eq!(renewed.len(), 300);
    fixture.advance(LEASE - MICRO).await;
    fixture.rival.finds_nothing().await;
    for (receipt, renewed) in receipts.iter().zip(renewed) {
        assert_eq!(extended(renewed).message, receipt.message);
    }
}

pub async fn an_empty_renewal_has_an_empty_answer(fixture: Fixture) {
    assert_eq!(fixture.store.renew_all(&[], LEASE).await, []);
}

fn extended(renewed: Renewed) -> Receipt {
    match renewed {
        Extended(receipt) => receipt,
        other => panic!("the claim should have been extended: {other:?}"),
    }
}
