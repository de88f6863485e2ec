use std::{sync::Arc, time::Duration};

use claimstream_ports::{Step, StepKey, StoreError};
use futures::future::join_all;
use uuid::Uuid;

use super::{Clause, clauses};
use crate::{Begin, StepStage, StepTransaction};

pub const CLAUSES: &[Clause<StepStage>] = clauses!["steps":
    a_step_is_begun_once_and_then_answered_as_it_stands,
    a_step_is_told_apart_by_scope_run_and_step,
    steps_are_compared_byte_by_byte,
    a_step_of_a_rolled_back_transaction_never_was,
    a_transaction_sees_its_own_step,
    a_step_moves_only_from_the_version_that_is_named,
    every_move_makes_a_larger_version,
    a_move_in_a_rolled_back_transaction_changes_nothing,
    a_step_that_never_was_does_not_move,
    a_step_and_a_message_share_a_transaction,
    the_second_of_two_transactions_waits_and_sees_the_step,
    the_second_of_two_transactions_begins_the_step_if_the_first_rolls_back,
    of_many_parallel_transactions_one_begins_the_step,
    of_many_parallel_moves_from_one_version_one_takes_place,
];

type Side = Arc<dyn Begin<dyn StepTransaction>>;

pub async fn a_step_is_begun_once_and_then_answered_as_it_stands(stage: StepStage) {
    let key = key();
    let first = begin(&stage.store, &key, 3).await.expect("begin");
    assert_eq!((first.new, first.state), (true, 3));
    let second = begin(&stage.rival, &key, 9).await.expect("begin");
    assert_eq!(second, Step { new: false, ..first });
}

pub async fn a_step_is_told_apart_by_scope_run_and_step(stage: StepStage) {
    let one = key();
    let others = [
        StepKey { scope: "other scope".into(), ..one.clone() },
        StepKey { run: format!("{}-other", one.run), ..one.clone() },
        StepKey { step: "other step".into(), ..one.clone() },
        StepKey { scope: one.step.clone(), step: one.scope.clone(), ..one.clone() },
    ];
    for key in others.iter().chain([&one]) {
        assert!(begin(&stage.store, key, 1).await.expect("begin").new, "{key:?}");
    }
}

pub async fn steps_are_compared_byte_by_byte(stage: StepStage) {
    let one = key();
    for step in ["debit", "Debit", "debit ", "débit", "de\u{301}bit", "\u{1f4b6}", "\u{1f4b7}"] {
        let key = StepKey { step: step.into(), ..one.clone() };
        assert!(begin(&stage.store, &key, 1).await.expect("begin").new, "{step:?}");
        assert!(!begin(&stage.rival, &key, 1).await.expect("begin").new, "{step:?}");
    }
}

pub async fn a_step_of_a_rolled_back_transaction_never_was(stage: StepStage) {
    let key = key();
    let tx = stage.store.begin().await.expect("begin");
    assert!(tx.begin_step(&key, 1).await.expect("begin step").new);
    tx.roll_back().await.expect("roll back");
    let second = begin(&stage.rival, &key, 2).await.expect("begin");
    assert_eq!((second.new, second.state), (true, 2));
}

pub async fn a_transaction_sees_its_own_step(stage: StepStage) {
    let key = key();
    let tx = stage.store.begin().await.expect("begin");
    let first = tx.begin_step(&key, 1).await.expect("begin step");
    assert!(tx.advance_step(&key, &first, 2).await.expect("advance"));
    let second = tx.begin_step(&key, 7).await.expect("begin step");
    assert_eq!((second.new, second.state), (false, 2));
    tx.commit().await.expect("commit");
    assert_eq!(begin(&stage.rival, &key, 7).await.expect("begin"), second);
}

pub async fn a_step_moves_only_from_the_version_that_is_named(stage: StepStage) {
    let key = key();
    let first = begin(&stage.store, &key, 1).await.expect("begin");
    assert!(advance(&stage.rival, &key, &first, 2).await.expect("advance"));
    assert!(!advance(&stage.store, &key, &first, 3).await.expect("advance"));
    let now = begin(&stage.store, &key, 9).await.expect("begin");
    assert_eq!((now.new, now.state), (false, 2));
    assert!(advance(&stage.store, &key, &now, 3).await.expect("advance"));
}

pub async fn every_move_makes_a_larger_version(stage: StepStage) {
    let key = key();
    let mut step = begin(&stage.store, &key, 5).await.expect("begin");
    for state in [5, 6, 5] {
        assert!(advance(&stage.store, &key, &step, state).await.expect("advance"));
        let moved = begin(&stage.rival, &key, 0).await.expect("begin");
        assert!(moved.version > step.version, "{moved:?} after {step:?}");
        assert_eq!(moved.state, state);
        step = moved;
    }
}

pub async fn a_move_in_a_rolled_back_transaction_changes_nothing(stage: StepStage) {
    let key = key();
    let step = begin(&stage.store, &key, 1).await.expect("begin");
    let tx = stage.store.begin().await.expect("begin");
    assert!(tx.advance_step(&key, &step, 2).await.expect("advance"));
    tx.roll_back().await.expect("roll back");
    assert_eq!(begin(&stage.rival, &key, 9).await.expect("begin"), Step { new: false, ..step });
    assert!(advance(&stage.rival, &key, &step, 3).await.expect("advance"));
}

pub async fn a_step_that_never_was_does_not_move(stage: StepStage) {
    let step = Step { new: true, state: 1, version: 1 };
    assert!(!advance(&stage.store, &key(), &step, 2).await.expect("advance"));
}

pub async fn a_step_and_a_message_share_a_transaction(stage: StepStage) {
    let key = key();
    for commit in [false, true] {
        let tx = stage.store.begin().await.expect("begin");
        assert!(tx.begin_step(&key, 1).await.expect("begin step").new);
        tx.enqueue(&[stage.outbox.message()]).await.expect("enqueue");
        if commit {
            tx.commit().await.expect("commit");
        } else {
            tx.roll_back().await.expect("roll back");
        }
        assert_eq!(stage.outbox.rival.take_all().await.len(), usize::from(commit));
    }
    assert!(!begin(&stage.rival, &key, 1).await.expect("begin").new);
}

pub async fn the_second_of_two_transactions_waits_and_sees_the_step(stage: StepStage) {
    let key = key();
    let tx = stage.store.begin().await.expect("begin");
    let first = tx.begin_step(&key, 1).await.expect("begin step");
    assert!(tx.advance_step(&key, &first, 2).await.expect("advance"));
    let second = spawn_begin(&stage.rival, &key, 8);
    pause().await;
    assert!(!second.is_finished(), "the second transaction did not wait");
    tx.commit().await.expect("commit");
    let second = match second.await.expect("a transaction") {
        Ok(step) => step,
        Err(error) => {
            assert!(error.is_retryable(), "{error}");
            begin(&stage.rival, &key, 8).await.expect("begin")
        }
    };
    assert_eq!((second.new, second.state), (false, 2));
}

pub async fn the_second_of_two_transactions_begins_the_step_if_the_first_rolls_back(stage: StepStage) {
    let key = key();
    let tx = stage.store.begin().await.expect("begin");
    tx.begin_step(&key, 1).await.expect("begin step");
    let second = spawn_begin(&stage.rival, &key, 8);
    pause().await;
    drop(tx);
    let second = match second.await.expect("a transaction") {
        Ok(step) => step,
        Err(error) => {
            assert!(error.is_retryable(), "{error}");
            begin(&stage.rival, &key, 8).await.expect("begin")
        }
    };
    assert_eq!((second.new, second.state), (true, 8));
}

pub async fn of_many_parallel_transactions_one_begins_the_step(stage: StepStage) {
    let key = key();
    let begins = (0..8_u8).map(|n| {
        let side = if n % 2 == 0 { &stage.store } else { &stage.rival };
        let (side, key) = (side.clone(), key.clone());
        tokio::spawn(async move { until_answered(|| begin(&side, &key, n)).await })
    });
    let steps: Vec<Step> = join_all(begins).await.into_iter().map(|s| s.expect("a transaction")).collect();
    let first: Vec<_> = steps.iter().filter(|step| step.new).collect();
    assert_eq!(first.len(), 1, "{steps:?}");
    assert!(steps.iter().all(|step| step.state == first[0].state), "{steps:?}");
}

pub async fn of_many_parallel_moves_from_one_version_one_takes_place(stage: StepStage) {
    let key = key();
    let step = begin(&stage.store, &key, 0).await.expect("begin");
    let moves = (1..=8_u8).map(|state| {
        let side = if state % 2 == 0 { &stage.store } else { &stage.rival };
        let (side, key) = (side.clone(), key.clone());
        tokio::spawn(async move { until_answered(|| advance(&side, &key, &step, state)).await })
    });
    let moved: Vec<bool> = join_all(moves).await.into_iter().map(|m| m.expect("a transaction")).collect();
    assert_eq!(moved.iter().filter(|moved| **moved).count(), 1, "{moved:?}");
    let now = begin(&stage.store, &key, 0).await.expect("begin");
    assert!(moved[usize::from(now.state) - 1], "{now:?} after {moved:?}");
}

fn key() -> StepKey {
    StepKey { scope: "transfer".into(), run: Uuid::now_v7().to_string(), step: "debit".into() }
}

async fn begin(side: &Side, key: &StepKey, state: u8) -> Result<Step, StoreError> {
    let tx = side.begin().await?;
    let step = tx.begin_step(key, state).await?;
    tx.commit().await?;
    Ok(step)
}

async fn advance(side: &Side, key: &StepKey, step: &Step, state: u8) -> Result<bool, StoreError> {
    let tx = side.begin().await?;
    let moved = tx.advance_step(key, step, state).await?;
    tx.commit().await?;
    Ok(moved)
}

fn spawn_begin(side: &Side, key: &StepKey, state: u8) -> tokio::task::JoinHandle<Result<Step, StoreError>> {
    let (side, key) = (side.clone(), key.clone());
    tokio::spawn(async move { begin(&side, &key, state).await })
}

async fn until_answered<T, F: Future<Output = Result<T, StoreError>>>(mut call: impl FnMut() -> F) -> T {
    loop {
        match call().await {
            Ok(answer) => return answer,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
}

/// Gives what was spawned a chance to come to its wait.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}
