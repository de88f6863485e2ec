//! Repeated and parallel claims hand out no message twice.

use std::collections::HashSet;

use claimstream_domain::Claimed;
use futures::future::join_all;

use crate::{
    Fixture, Instance, LEASE, ids,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<Fixture>] = cases!["claim" needs [Claims]:
    a_repeated_claim_with_the_same_claim_id_never_hands_out_a_message_twice,
    a_repeated_claim_after_the_lease_never_hands_out_a_message_twice,
    two_claims_in_turn_share_no_message needs [Sharing],
    two_parallel_claimers_never_share_a_message,
    an_expired_message_goes_to_one_of_many_parallel_claimers,
];

pub async fn a_repeated_claim_with_the_same_claim_id_never_hands_out_a_message_twice(fixture: Fixture) {
    fixture.enqueue(4).await;
    let request = fixture.store.request(2, LEASE);
    let mut claimed = fixture.store.claim_as(&request).await;
    claimed.extend(fixture.store.claim_as(&request).await);
    claimed.extend(fixture.rival.claim_as(&request).await);
    assert!(!claimed.is_empty());
    assert_eq!(distinct(&claimed), claimed.len(), "handed out twice: {claimed:?}");
}

pub async fn a_repeated_claim_after_the_lease_never_hands_out_a_message_twice(fixture: Fixture) {
    fixture.enqueue(1).await;
    let request = fixture.store.request(1, LEASE);
    let mut claimed = fixture.store.claim_as(&request).await;
    fixture.advance(LEASE).await;
    claimed.extend(fixture.store.claim_as(&request).await);
    assert_eq!(claimed.len(), 1);
    assert_eq!(fixture.rival.take_one().await.attempt, 2);
}

pub async fn two_claims_in_turn_share_no_message(fixture: Fixture) {
    let sent = fixture.enqueue(6).await;
    assert_eq!(ids(&fixture.store.take(3).await), sent[..3]);
    assert_eq!(ids(&fixture.rival.take(3).await), sent[3..]);
}

pub async fn two_parallel_claimers_never_share_a_message(fixture: Fixture) {
    let sent: Vec<_> = (0..200).map(|_| fixture.loose_message()).collect();
    fixture.store.enqueue(&sent).await;
    let claimers = (0..6_u64).map(|n| {
        let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
        let claimer = side.fork(100 + n);
        tokio::spawn(async move { claim_in_small_bites(&claimer, 7).await })
    });
    let claimed: Vec<Claimed> =
        join_all(claimers).await.into_iter().flat_map(|c| c.expect("a claimer")).collect();
    assert_eq!(distinct(&claimed), claimed.len(), "a message went to two claimers");
    let rest = fixture.store.take_all().await;
    assert_eq!(claimed.len() + rest.len(), 200, "a message was lost");
    assert!(claimed.iter().chain(&rest).all(|c| c.attempt == 1));
}

/// Guard: a write of a lease row asks for its fence | adapters/sea-orm/src/sql/shard_lease/write.sql: no
/// `AND fence = :fence`
pub async fn an_expired_message_goes_to_one_of_many_parallel_claimers(fixture: Fixture) {
    for round in 1..=10 {
        if round == 1 {
            fixture.store.enqueue(&[fixture.message()]).await;
        }
        let claimers = (0..4_u64).map(|n| {
            let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
            let claimer = side.fork(200 + n);
            tokio::spawn(async move { claimer.take(1).await })
        });
        let claimed: Vec<Claimed> =
            join_all(claimers).await.into_iter().flat_map(|c| c.expect("a claimer")).collect();
        assert_eq!(claimed.len(), 1, "round {round}: {claimed:?}");
        assert_eq!(claimed[0].attempt, round);
        fixture.advance(LEASE).await;
    }
}

async fn claim_in_small_bites(claimer: &Instance, bite: usize) -> Vec<Claimed> {
    let mut all = Vec::new();
    loop {
        let some = claimer.take(bite).await;
        if some.is_empty() {
            return all;
        }
        all.extend(some);
    }
}

pub(super) fn distinct(claimed: &[Claimed]) -> usize {
    ids(claimed).into_iter().collect::<HashSet<_>>().len()
}
