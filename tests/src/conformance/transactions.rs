use std::{collections::HashSet, time::Duration};

use claimstream_domain::{
    Disposition,
    Enqueued::{self, Duplicate, New},
    NewMessage,
    Settled::Accepted,
};
use claimstream_ports::StoreError;
use futures::future::join_all;

use super::{Clause, clauses};
use crate::{Instance, LEASE, Stage, ids};

/// The longest that a store may go on from where it was without looking back.
pub(super) const RESET: Duration = Duration::from_secs(2);

pub const CLAUSES: &[Clause<Stage>] = clauses!["transactions":
    a_message_is_invisible_before_its_transaction_commits,
    a_claim_is_a_transaction_of_its_own,
    a_claim_does_not_wait_for_an_open_enqueue,
    an_enqueue_does_not_wait_for_another_one,
    a_message_committed_late_is_not_missed,
    a_message_committed_late_is_handed_out_within_two_seconds_though_every_claim_is_full,
    a_key_of_an_open_transaction_is_taken_if_it_commits,
    a_key_of_an_open_transaction_is_free_if_it_rolls_back,
    of_many_parallel_enqueues_of_one_key_one_is_new,
    of_many_parallel_settlements_with_one_childs_key_one_has_the_child,
];

pub async fn a_message_is_invisible_before_its_transaction_commits(stage: Stage) {
    let message = stage.message();
    let tx = stage.store.begin().await;
    tx.enqueue(std::slice::from_ref(&message)).await.expect("enqueue");
    stage.rival.finds_nothing().await;
    stage.store.finds_nothing().await;
    assert_eq!(stage.rival.status().await, None);
    tx.commit().await.expect("commit");
    assert_eq!(stage.rival.take_one().await.message.id, message.id);
}

pub async fn a_claim_is_a_transaction_of_its_own(stage: Stage) {
    let id = stage.enqueue(1).await[0];
    let tx = stage.store.begin().await;
    tx.enqueue(&[stage.message()]).await.expect("enqueue");
    let claimed = stage.store.take_one().await;
    tx.roll_back().await.expect("roll back");
    assert_eq!(claimed.message.id, id);
    stage.rival.finds_nothing().await;
    stage.advance(LEASE).await;
    assert_eq!(stage.rival.take_one().await.attempt, 2);
}

pub async fn a_claim_does_not_wait_for_an_open_enqueue(stage: Stage) {
    let ready = stage.enqueue(3).await;
    let tx = stage.store.begin().await;
    tx.enqueue(&[stage.message(), stage.message()]).await.expect("enqueue");
    let found: Vec<_> = stage.rival.take_all().await.into_iter().map(|c| c.message.id).collect();
    assert_eq!(found, ready);
    tx.commit().await.expect("commit");
    assert_eq!(stage.rival.take_all().await.len(), 2);
}

pub async fn an_enqueue_does_not_wait_for_another_one(stage: Stage) {
    let (one, other) = (stage.store.begin().await, stage.rival.begin().await);
    for tx in [&one, &other, &one, &other] {
        assert_eq!(tx.enqueue(&[stage.message(), stage.loose_message()]).await.expect("enqueue"), [New, New]);
    }
    one.commit().await.expect("commit");
    other.roll_back().await.expect("roll back");
    assert_eq!(stage.store.take_all().await.len(), 4);
}

pub async fn a_message_committed_late_is_not_missed(stage: Stage) {
    let late = stage.message();
    let tx = stage.rival.begin().await;
    tx.enqueue(std::slice::from_ref(&late)).await.expect("enqueue");
    stage.advance(Duration::from_secs(1)).await;
    let younger = stage.enqueue(3).await;
    assert_eq!(stage.store.take(2).await.len(), 2);
    tx.commit().await.expect("commit");
    let rest: HashSet<_> = stage.store.take_all().await.iter().map(|c| c.message.id).collect();
    assert_eq!(rest, HashSet::from([late.id, younger[2]]));
}

pub async fn a_message_committed_late_is_handed_out_within_two_seconds_though_every_claim_is_full(
    stage: Stage,
) {
    let late = stage.message();
    let tx = stage.rival.begin().await;
    tx.enqueue(std::slice::from_ref(&late)).await.expect("enqueue");
    stage.advance(Duration::from_secs(1)).await;
    let younger = stage.enqueue(9).await;
    for id in &younger[..3] {
        assert_eq!(ids(&stage.store.take(1).await), [*id]);
    }
    tx.commit().await.expect("commit");
    stage.advance(RESET).await;
    assert_eq!(ids(&stage.store.take(1).await), [late.id]);
}

pub async fn a_key_of_an_open_transaction_is_taken_if_it_commits(stage: Stage) {
    let first = stage.unique_message("transfer-9");
    let second = stage.unique_message("transfer-9");
    let tx = stage.store.begin().await;
    tx.enqueue(std::slice::from_ref(&first)).await.expect("enqueue");
    let waiting = tokio::spawn(enqueue(stage.rival.clone(), second));
    pause().await;
    tx.commit().await.expect("commit");
    never_new(waiting.await.expect("an enqueue"));
    let found: Vec<_> = stage.store.take_all().await.iter().map(|c| c.message.id).collect();
    assert_eq!(found, [first.id]);
}

pub async fn a_key_of_an_open_transaction_is_free_if_it_rolls_back(stage: Stage) {
    let second = stage.unique_message("transfer-9");
    let tx = stage.store.begin().await;
    tx.enqueue(&[stage.unique_message("transfer-9")]).await.expect("enqueue");
    let waiting = tokio::spawn(enqueue(stage.rival.clone(), second.clone()));
    pause().await;
    tx.roll_back().await.expect("roll back");
    match waiting.await.expect("an enqueue") {
        Ok(answer) => assert_eq!(answer, New),
        Err(error) => {
            assert!(error.is_retryable(), "{error}");
            assert_eq!(enqueue(stage.rival.clone(), second).await.expect("enqueue"), New);
        }
    }
    assert_eq!(stage.store.take_all().await.len(), 1);
}

pub async fn of_many_parallel_enqueues_of_one_key_one_is_new(stage: Stage) {
    let enqueues = (0..8).map(|n| {
        let side = if n % 2 == 0 { &stage.store } else { &stage.rival };
        tokio::spawn(enqueue_until_answered(side.clone(), stage.unique_message("transfer-9")))
    });
    let answers: Vec<_> = join_all(enqueues).await.into_iter().map(|a| a.expect("an enqueue")).collect();
    assert_eq!(answers.iter().filter(|answer| **answer == New).count(), 1, "{answers:?}");
    assert_eq!(stage.store.take_all().await.len(), 1);
}

pub async fn of_many_parallel_settlements_with_one_childs_key_one_has_the_child(stage: Stage) {
    let sent: Vec<_> = (0..6).map(|_| stage.loose_message()).collect();
    stage.store.enqueue(&sent).await;
    let settlements = stage.store.take_all().await.into_iter().enumerate().map(|(n, claimed)| {
        let side = if n % 2 == 0 { &stage.store } else { &stage.rival };
        let (side, emit) =
            (side.clone(), Disposition::Done { emit: vec![stage.unique_message("transfer-9")] });
        tokio::spawn(async move { side.settle(&claimed.receipt, emit).await })
    });
    for answer in join_all(settlements).await {
        assert_eq!(answer.expect("a settlement"), Accepted);
    }
    assert_eq!(stage.store.take_all().await.len(), 1);
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
