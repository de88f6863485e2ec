//! One claim settled again, twice at a time, and by several at a time.

use claimstream_domain::{
    Claimed,
    Settled::{self, Accepted, Superseded},
    Settlement,
};
use futures::future::join_all;

use super::dispositions::{dispositions, done};
use crate::{
    Fixture, Instance, ids,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<Fixture>] = cases!["settle" needs [Claims, Settlements]:
    a_repeated_settlement_is_accepted_at_most_once,
    a_claim_that_stands_twice_in_a_batch_is_accepted_once,
    two_parallel_settlements_of_one_claim_are_accepted_once,
    many_parallel_settlements_are_each_answered_for_themselves,
];

pub async fn a_repeated_settlement_is_accepted_at_most_once(fixture: Fixture) {
    fixture.enqueue(4).await;
    let claimed = fixture.store.take(4).await;
    for (claimed, disposition) in claimed.iter().zip(dispositions()) {
        let settle = |by: &Instance| {
            let (by, receipt, disposition) = (by.clone(), claimed.receipt.clone(), disposition.clone());
            async move { by.settle(&receipt, disposition).await }
        };
        let answers =
            [settle(&fixture.store).await, settle(&fixture.store).await, settle(&fixture.rival).await];
        assert_eq!(accepted(&answers), 1, "{disposition:?}: {answers:?}");
    }
    assert_eq!(fixture.store.dead().await.len(), 1);
}

/// Guard: messages are settled by one statement only if each is held and named once |
/// adapters/sea-orm/src/strategy/rows/at_once.rs: `holds` ignored
pub async fn a_claim_that_stands_twice_in_a_batch_is_accepted_once(fixture: Fixture) {
    fixture.enqueue(4).await;
    let claimed = fixture.store.take(4).await;
    for (claimed, disposition) in claimed.iter().zip(dispositions()) {
        let ack = Settlement { receipt: claimed.receipt.clone(), disposition: done() };
        let other = Settlement { receipt: claimed.receipt.clone(), disposition };
        let answers = fixture.store.settle_all(&[other, ack]).await;
        assert_eq!((answers.len(), accepted(&answers)), (2, 1), "{answers:?}");
    }
}

/// Guard: a statement without effect is repeated in a transaction | adapters/sea-orm/src/strategy/rows/at_once.rs:
/// no arm `Counted(0)`
pub async fn two_parallel_settlements_of_one_claim_are_accepted_once(fixture: Fixture) {
    for disposition in dispositions().iter().cycle().take(20) {
        fixture.store.enqueue(&[fixture.message()]).await;
        let claimed = fixture.store.take_one().await;
        let settlers = [&fixture.store, &fixture.rival, &fixture.store, &fixture.rival].map(|settler| {
            let (settler, receipt) = (settler.clone(), claimed.receipt.clone());
            let disposition = disposition.clone();
            tokio::spawn(async move { settler.settle(&receipt, disposition).await })
        });
        let answers: Vec<_> = join_all(settlers).await.into_iter().map(|a| a.expect("a settler")).collect();
        assert_eq!(accepted(&answers), 1, "{disposition:?}: {answers:?}");
        for left in fixture.store.take_all().await {
            let _ = fixture.store.ack(&left).await;
        }
    }
}

/// Settlements of one shard may be written together: a lost message must not cost the others theirs.
pub async fn many_parallel_settlements_are_each_answered_for_themselves(fixture: Fixture) {
    fixture.enqueue(40).await;
    let claimed = fixture.store.take(40).await;
    let (lost, twice) = (&claimed[13], &claimed[22]);
    assert_eq!(fixture.store.release(lost).await, Accepted);
    let mut batches: Vec<Vec<&Claimed>> = claimed.chunks(5).map(|five| five.iter().collect()).collect();
    batches[6].push(twice);
    let settle = |batch: &Vec<&Claimed>| {
        let end = |claimed: &&Claimed| Settlement { receipt: claimed.receipt.clone(), disposition: done() };
        let ends: Vec<_> = batch.iter().map(end).collect();
        let store = &fixture.store;
        async move { store.settle_all(&ends).await }
    };
    let answers = join_all(batches.iter().map(settle)).await;
    let mut accepted = Vec::new();
    for (claimed, settled) in batches.iter().flatten().zip(answers.iter().flatten()) {
        match settled {
            Accepted => accepted.push(claimed.message.id),
            Superseded => assert!([lost.message.id, twice.message.id].contains(&claimed.message.id)),
            Settled::Unknown => panic!("nothing is in its way"),
        }
    }
    accepted.sort();
    let mut ours = ids(&claimed);
    ours.retain(|id| *id != lost.message.id);
    ours.sort();
    assert_eq!(accepted, ours, "each once");
    assert_eq!(fixture.rival.status().await.map_or(0, |status| status.depth), 1);
}

pub(super) fn accepted(answers: &[Settled]) -> usize {
    answers.iter().filter(|answer| **answer == Accepted).count()
}
