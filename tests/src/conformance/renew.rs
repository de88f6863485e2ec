use std::time::Duration;

use claimstream_domain::{
    ClaimId, Disposition, InstanceId, Receipt,
    Renewed::{self, Extended, Superseded},
    Settled::Accepted,
};

use super::{Clause, clauses, settle::done};
use crate::{LEASE, Stage};

pub const CLAUSES: &[Clause<Stage>] = clauses!["renew":
    a_renewed_claim_lasts_a_whole_lease_from_now,
    a_renewal_may_bring_the_end_nearer,
    a_claim_can_be_renewed_again_and_again,
    a_renewed_receipt_names_the_same_claim,
    a_renewal_counts_no_attempt,
    a_renewed_claim_is_settled_by_its_new_receipt,
    a_release_after_a_renewal_restores_the_time_before_the_claim,
    an_expired_claim_that_nobody_took_is_renewed,
    a_renewal_of_a_lost_claim_is_superseded_and_changes_nothing,
    an_older_claim_of_the_same_instance_is_not_renewed,
    a_forged_claim_id_is_not_renewed,
    a_settled_claim_is_not_renewed,
    renewals_are_answered_in_the_order_of_their_entries,
    a_large_batch_is_renewed_whole,
    an_empty_renewal_has_an_empty_answer,
];

const MICRO: Duration = Duration::from_micros(1);

pub async fn a_renewed_claim_lasts_a_whole_lease_from_now(stage: Stage) {
    stage.enqueue(1).await;
    let claimed = stage.store.take_one().await;
    stage.advance(LEASE - MICRO).await;
    extended(stage.store.renew(&claimed.receipt, LEASE).await);
    stage.advance(LEASE - MICRO).await;
    stage.rival.finds_nothing().await;
    stage.advance(MICRO).await;
    stage.rival.take_one().await;
}

pub async fn a_renewal_may_bring_the_end_nearer(stage: Stage) {
    stage.enqueue(1).await;
    let claimed = stage.store.take_one().await;
    let short = Duration::from_secs(3);
    extended(stage.store.renew(&claimed.receipt, short).await);
    stage.advance(short - MICRO).await;
    stage.rival.finds_nothing().await;
    stage.advance(MICRO).await;
    stage.rival.take_one().await;
}

pub async fn a_claim_can_be_renewed_again_and_again(stage: Stage) {
    stage.enqueue(1).await;
    let mut receipt = stage.store.take_one().await.receipt;
    for _ in 0..6 {
        stage.advance(LEASE / 3).await;
        receipt = extended(stage.store.renew(&receipt, LEASE).await);
        stage.rival.finds_nothing().await;
    }
    assert_eq!(stage.store.settle(&receipt, done()).await, Accepted);
}

pub async fn a_renewed_receipt_names_the_same_claim(stage: Stage) {
    stage.enqueue(1).await;
    let old = stage.store.take_one().await.receipt;
    let new = extended(stage.store.renew(&old, LEASE).await);
    assert_eq!(Receipt { locator: old.locator, ..new }, old);
}

pub async fn a_renewal_counts_no_attempt(stage: Stage) {
    stage.enqueue(1).await;
    let claimed = stage.store.take_one().await;
    extended(stage.store.renew(&claimed.receipt, LEASE).await);
    stage.advance(LEASE).await;
    assert_eq!(stage.rival.take_one().await.attempt, 2);
}

pub async fn a_renewed_claim_is_settled_by_its_new_receipt(stage: Stage) {
    stage.enqueue(4).await;
    let dispositions = super::settle::dispositions();
    for (claimed, disposition) in stage.store.take(4).await.iter().zip(dispositions) {
        stage.advance(Duration::from_secs(1)).await;
        let receipt = extended(stage.store.renew(&claimed.receipt, LEASE).await);
        assert_eq!(stage.store.settle(&receipt, disposition).await, Accepted);
    }
}

pub async fn a_release_after_a_renewal_restores_the_time_before_the_claim(stage: Stage) {
    let sent = stage.enqueue(3).await;
    let claimed = stage.store.take(1).await.remove(0);
    stage.advance(Duration::from_secs(7)).await;
    let receipt = extended(stage.store.renew(&claimed.receipt, LEASE).await);
    let returned = Disposition::Returned;
    assert_eq!(stage.store.settle(&receipt, returned).await, Accepted);
    let found = stage.store.take(3).await;
    assert_eq!(found.iter().map(|c| c.message.id).collect::<Vec<_>>(), sent);
    assert_eq!(found[0].attempt, 1);
}

pub async fn an_expired_claim_that_nobody_took_is_renewed(stage: Stage) {
    stage.enqueue(1).await;
    let claimed = stage.store.take_one().await;
    stage.advance(2 * LEASE).await;
    extended(stage.store.renew(&claimed.receipt, LEASE).await);
    stage.rival.finds_nothing().await;
}

pub async fn a_renewal_of_a_lost_claim_is_superseded_and_changes_nothing(stage: Stage) {
    stage.enqueue(1).await;
    let lost = stage.store.take_one().await;
    stage.advance(LEASE).await;
    let held = stage.rival.take_one().await;
    assert_eq!(stage.store.renew(&lost.receipt, 100 * LEASE).await, Superseded);
    stage.advance(LEASE - MICRO).await;
    stage.store.finds_nothing().await;
    extended(stage.rival.renew(&held.receipt, LEASE).await);
    stage.advance(LEASE).await;
    assert_eq!(stage.store.take_one().await.attempt, 3);
}

pub async fn an_older_claim_of_the_same_instance_is_not_renewed(stage: Stage) {
    stage.enqueue(1).await;
    let older = stage.store.take_one().await;
    stage.advance(LEASE).await;
    let newer = stage.store.take_one().await;
    assert_eq!(stage.store.renew(&older.receipt, LEASE).await, Superseded);
    extended(stage.store.renew(&newer.receipt, LEASE).await);
}

pub async fn a_forged_claim_id_is_not_renewed(stage: Stage) {
    stage.enqueue(1).await;
    let claimed = stage.store.take_one().await;
    let forged = Receipt { claim: ClaimId::new(InstanceId(33), 8), ..claimed.receipt };
    assert_eq!(stage.rival.renew(&forged, 100 * LEASE).await, Superseded);
    stage.advance(LEASE).await;
    stage.rival.take_one().await;
}

pub async fn a_settled_claim_is_not_renewed(stage: Stage) {
    stage.enqueue(4).await;
    let claimed = stage.store.take(4).await;
    for (claimed, disposition) in claimed.iter().zip(super::settle::dispositions()) {
        assert_eq!(stage.store.settle(&claimed.receipt, disposition).await, Accepted);
        assert_eq!(stage.store.renew(&claimed.receipt, 100 * LEASE).await, Superseded);
    }
    stage.advance(Duration::from_secs(77)).await;
    assert_eq!(stage.rival.take_all().await.len(), 2, "the nacked and the released message are due");
}

pub async fn renewals_are_answered_in_the_order_of_their_entries(stage: Stage) {
    stage.enqueue(5).await;
    let claimed = stage.store.take(5).await;
    let _ = stage.store.ack(&claimed[1]).await;
    let _ = stage.store.bury(&claimed[3], "no").await;
    let receipts: Vec<_> = [4, 3, 2, 1, 0].map(|n: usize| claimed[n].receipt.clone()).into();
    let renewed = stage.rival.renew_all(&receipts, LEASE).await;
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

pub async fn a_large_batch_is_renewed_whole(stage: Stage) {
    let sent: Vec<_> = (0..300).map(|_| stage.loose_message()).collect();
    stage.store.enqueue(&sent).await;
    let receipts: Vec<_> = stage.store.take_all().await.into_iter().map(|c| c.receipt).collect();
    stage.advance(LEASE - MICRO).await;
    let renewed = stage.store.renew_all(&receipts, LEASE).await;
    assert_eq!(renewed.len(), 300);
    stage.advance(LEASE - MICRO).await;
    stage.rival.finds_nothing().await;
    for (receipt, renewed) in receipts.iter().zip(renewed) {
        assert_eq!(extended(renewed).message, receipt.message);
    }
}

pub async fn an_empty_renewal_has_an_empty_answer(stage: Stage) {
    assert_eq!(stage.store.renew_all(&[], LEASE).await, []);
}

fn extended(renewed: Renewed) -> Receipt {
    match renewed {
        Extended(receipt) => receipt,
        other => panic!("the claim should have been extended: {other:?}"),
    }
}
