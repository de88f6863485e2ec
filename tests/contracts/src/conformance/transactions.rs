//! Promise: a message is invisible before its transaction commits

use std::{collections::HashSet, time::Duration};

use claimstream_domain::{
    Disposition,
    Enqueued::{self, Duplicate, New},
    NewMessage,
    Settled::Accepted,
};
use claimstream_ports::StoreError;
use futures::future::join_all;

use crate::suite::{Case, cases};
use crate::{Fixture, Instance, LEASE, ids};

/// The longest that a store may go on from where it was without looking back.
pub(super) const RESET: Duration = Duration::from_secs(2);

pub const CLAUSES: &[Case<Fixture>] = cases!["transactions" needs [Claims, Unguarded, ParallelWrites]:
    a_message_is_invisible_before_its_transaction_commits,
    a_claim_is_a_transaction_of_its_own,
    a_claim_does_not_wait_for_an_open_enqueue,
    an_enqueue_does_not_wait_for_another_one,
    a_message_committed_late_is_not_missed,
    a_message_committed_late_is_handed_out_within_two_seconds_though_every_claim_is_full,
    a_key_of_an_open_transaction_is_taken_if_it_commits,
    a_key_of_an_open_transaction_is_free_if_it_rolls_back,
    of_many_parallel_enqueues_of_one_key_one_is_new,
    of_many_parallel_settlements_with_one_childs_key_one_has_the_child needs [Sharing],
];

pub async fn a_message_is_invisible_before_its_transaction_commits(fixture: Fixture) {
    let message = fixture.message();
    let tx = fixture.store.begin().await;
    tx.enqueue(std::slice::from_ref(&message)).await.expect("enqueue");
    fixture.rival.finds_nothing().await;
    fixture.store.finds_nothing().await;
    assert_eq!(fixture.rival.status().await, None);
    tx.commit().await.expect("commit");
    assert_eq!(fixture.rival.take_one().await.message.id, message.id);
}

pub async fn a_claim_is_a_transaction_of_its_own(fixture: Fixture) {
    let id = fixture.enqueue(1).await[0];
    let tx = fixture.store.begin().await;
    tx.enqueue(&[fixture.message()]).await.expect("enqueue");
    let claimed = fixture.store.take_one().await;
    tx.roll_back().await.expect("roll back");
    assert_eq!(claimed.message.id, id);
    fixture.rival.finds_nothing().await;
    fixture.advance(LEASE).await;
    assert_eq!(fixture.rival.take_one().await.attempt, 2);
}

pub async fn a_claim_does_not_wait_for_an_open_enqueue(fixture: Fixture) {
    let ready = fixture.enqueue(3).await;
    let tx = fixture.store.begin().await;
    tx.enqueue(&[fixture.message(), fixture.message()]).await.expect("enqueue");
    let found: Vec<_> = fixture.rival.take_all().await.into_iter().map(|c| c.message.id).collect();
    assert_eq!(found, ready);
    tx.commit().await.expect("commit");
    assert_eq!(fixture.rival.take_all().await.len(), 2);
}

pub async fn an_enqueue_does_not_wait_for_another_one(fixture: Fixture) {
    let (one, other) = (fixture.store.begin().await, fixture.rival.begin().await);
    for tx in [&one, &other, &one, &other] {
        assert_eq!(
            tx.enqueue(&[fixture.message(), fixture.loose_message()]).await.expect("enqueue"),
            [New, New]
        );
    }
    one.commit().await.expect("commit");
    other.roll_back().await.expect("roll back");
    assert_eq!(fixture.store.take_all().await.len(), 4);
}

pub async fn a_message_committed_late_is_not_missed(fixture: Fixture) {
    let late = fixture.message();
    let tx = fixture.rival.begin().await;
    tx.enqueue(std::slice::from_ref(&late)).await.expect("enqueue");
    fixture.advance(Duration::from_secs(1)).await;
    let younger = fixture.enqueue(3).await;
    assert_eq!(fixture.store.take(2).await.len(), 2);
    tx.commit().await.expect("commit");
    let rest: HashSet<_> = fixture.store.take_all().await.iter().map(|c| c.message.id).collect();
    assert_eq!(rest, HashSet::from([late.id, younger[2]]));
}

pub async fn a_message_committed_late_is_handed_out_within_two_seconds_though_every_claim_is_full(
    fixture: Fixture,
) {
    let late = fixture.message();
    let tx = fixture.rival.begin().await;
    tx.enqueue(std::slice::from_ref(&late)).await.expect("enqueue");
    fixture.advance(Duration::from_secs(1)).await;
    let younger = fixture.enqueue(9).await;
    for id in &younger[..3] {
        assert_eq!(ids(&fixture.store.take(1).await), [*id]);
    }
    tx.commit().await.expect("commit");
    fixture.advance(RESET).await;
    assert_eq!(ids(&fixture.store.take(1).await), [late.id]);
}

pub async fn a_key_of_an_open_transaction_is_taken_if_it_commits(fixture: Fixture) {
    let first = fixture.unique_message("transfer-9");
    let second = fixture.unique_message("transfer-9");
    let tx = fixture.store.begin().await;
    tx.enqueue(std::slice::from_ref(&first)).await.expect("enqueue");
    let waiting = tokio::spawn(enqueue(fixture.rival.clone(), second));
    pause().await;
    tx.commit().await.expect("commit");
    never_new(waiting.await.expect("an enqueue"));
    let found: Vec<_> = fixture.store.take_all().await.iter().map(|c| c.message.id).collect();
    assert_eq!(found, [first.id]);
}

pub async fn a_key_of_an_open_transaction_is_free_if_it_rolls_back(fixture: Fixture) {
    let second = fixture.unique_message("transfer-9");
    let tx = fixture.store.begin().await;
    tx.enqueue(&[fixture.unique_message("transfer-9")]).await.expect("enqueue");
    let waiting = tokio::spawn(enqueue(fixture.rival.clone(), second.clone()));
    pause().await;
    tx.roll_back().await.expect("roll back");
    match waiting.await.expect("an enqueue") {
        Ok(answer) => assert_eq!(answer, New),
        Err(error) => {
            assert!(error.is_retryable(), "{error}");
            assert_eq!(enqueue(fixture.rival.clone(), second).await.expect("enqueue"), New);
        }
    }
    assert_eq!(fixture.store.take_all().await.len(), 1);
}

pub async fn of_many_parallel_enqueues_of_one_key_one_is_new(fixture: Fixture) {
    let enqueues = (0..8).map(|n| {
        let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
        tokio::spawn(enqueue_until_answered(side.clone(), fixture.unique_message("transfer-9")))
    });
    let answers: Vec<_> = join_all(enqueues).await.into_iter().map(|a| a.expect("an enqueue")).collect();
    assert_eq!(answers.iter().filter(|answer| **answer == New).count(), 1, "{answers:?}");
    assert_eq!(fixture.store.take_all().await.len(), 1);
}

pub async fn of_many_parallel_settlements_with_one_childs_key_one_has_the_child(fixture: Fixture) {
    let sent: Vec<_> = (0..6).map(|_| fixture.loose_message()).collect();
    fixture.store.enqueue(&sent).await;
    let settlements = fixture.store.take_all().await.into_iter().enumerate().map(|(n, claimed)| {
        let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
        let (side, emit) =
            (side.clone(), Disposition::Done { emit: vec![fixture.unique_message("transfer-9")] });
        tokio::spawn(async move { side.settle(&claimed.receipt, emit).await })
    });
    for answer in join_all(settlements).await {
        assert_eq!(answer.expect("a settlement"), Accepted);
    }
    assert_eq!(fixture.store.take_all().await.len(), 1);
}

async fn enqueue(instance: Instance, message: NewMessage) -> Result<Enqueued, StoreError> {
    let tx = instance.begin().await;
    let answers = tx.enqueue(&[message]).await?;
    tx.commit().await?;
    Ok(answers[0])
}

async fn enqueue_until_answered(instance: Instance, message: NewMessage) -> Enqueued {
    loop {
        match enqueue(instance.clone(), message.clone()).await {
            Ok(answer) => return answer,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
}

fn never_new(answer: Result<Enqueued, StoreError>) {
    match answer {
        Ok(answer) => assert_eq!(answer, Duplicate),
        Err(error) => assert!(error.is_retryable(), "{error}"),
    }
}

/// Gives what was spawned a chance to come to its wait; nothing is decided by it.
async fn pause() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
}
