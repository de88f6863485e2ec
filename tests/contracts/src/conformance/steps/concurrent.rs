//! What a store owes on which two transactions can write at a time.

use std::time::Duration;

use claimstream_domain::step::{Begun, Step, StepChange, StepKey};
use claimstream_ports::{
    StoreError,
    step::{LockWait, Locked},
};
use futures::future::join_all;

use super::sample::{Side, advance, begin, find, found, key, lock, new, step};
use crate::{
    StepFixture,
    suite::{Case, cases},
};

pub const CONCURRENT: &[Case<StepFixture>] = cases!["steps" needs [Steps, ParallelWrites]:
    the_second_of_two_transactions_waits_and_sees_the_step,
    the_second_of_two_transactions_begins_the_step_if_the_first_rolls_back,
    of_many_parallel_transactions_one_begins_the_step,
    of_many_parallel_changes_from_one_version_one_takes_place,
    a_locked_step_is_busy_at_once_for_who_does_not_wait over wire,
    a_step_that_was_just_begun_is_busy_for_who_does_not_wait,
    a_step_that_was_found_by_beginning_stays_as_it_is_until_the_transaction_ends,
    who_waits_for_a_lock_sees_the_step_as_it_was_left,
    other_steps_of_a_run_can_be_begun_and_locked_meanwhile,
];

pub async fn the_second_of_two_transactions_waits_and_sees_the_step(fixture: StepFixture) {
    let key = key();
    let tx = fixture.store.begin().await.expect("begin");
    let first = new(tx.begin_step(&step(&key, 1)).await.expect("begin step"));
    tx.advance_step(&key, &first, &StepChange::to(2)).await.expect("advance").expect("a change");
    let second = spawn_begin(&fixture.rival, &key, 8);
    pause().await;
    assert!(!second.is_finished(), "the second transaction did not wait");
    tx.commit().await.expect("commit");
    assert_eq!(found(second.await.expect("a transaction")).state, 2);
}

pub async fn the_second_of_two_transactions_begins_the_step_if_the_first_rolls_back(fixture: StepFixture) {
    let key = key();
    let tx = fixture.store.begin().await.expect("begin");
    tx.begin_step(&step(&key, 1)).await.expect("begin step");
    let second = spawn_begin(&fixture.rival, &key, 8);
    pause().await;
    drop(tx);
    assert_eq!(new(second.await.expect("a transaction")).state, 8);
}

pub async fn of_many_parallel_transactions_one_begins_the_step(fixture: StepFixture) {
    let key = key();
    let begins =
        (0..8_u8).map(|n| spawn_begin(if n % 2 == 0 { &fixture.store } else { &fixture.rival }, &key, n));
    let begun: Vec<Begun> = join_all(begins).await.into_iter().map(|s| s.expect("a transaction")).collect();
    let first: Vec<&Step> = begun
        .iter()
        .filter_map(|begun| if let Begun::New(step) = begun { Some(step) } else { None })
        .collect();
    assert_eq!(first.len(), 1, "{begun:?}");
    let all = begun.iter().map(|begun| match begun {
        Begun::New(step) | Begun::Found(step) => step,
    });
    assert!(all.into_iter().all(|step| step == first[0]), "{begun:?}");
}

pub async fn of_many_parallel_changes_from_one_version_one_takes_place(fixture: StepFixture) {
    let key = key();
    let from = new(begin(&fixture.store, &step(&key, 0)).await.expect("begin"));
    let changes = (1..=8_u8).map(|state| {
        let side = if state % 2 == 0 { &fixture.store } else { &fixture.rival };
        let (side, key, from) = (side.clone(), key.clone(), from.clone());
        tokio::spawn(async move {
            until_answered(|| async { advance(&side, &key, &from, &StepChange::to(state)).await }).await
        })
    });
    let changed: Vec<_> = join_all(changes).await.into_iter().map(|m| m.expect("a transaction")).collect();
    assert_eq!(changed.iter().flatten().count(), 1, "{changed:?}");
    assert_eq!(find(&fixture.store, &key).await, changed.into_iter().flatten().next());
}

/// Guard: a step that another transaction holds is busy | adapters/sea-orm/src/steps/ledger.rs: no `Busy`
/// arm; in memory no `is_held_by_another`
/// Guard: a lock that does not wait returns at once | adapters/sea-orm/src/sql/steps/lock_now.mysql.sql: no
/// `NOWAIT`
/// Guard: `lock` locks the row | adapters/sea-orm/src/sql/steps/lock.mysql.sql: no `FOR UPDATE`; in memory no
/// `hold` in `lock`
pub async fn a_locked_step_is_busy_at_once_for_who_does_not_wait(fixture: StepFixture) {
    let key = key();
    let first = new(begin(&fixture.store, &step(&key, 1)).await.expect("begin"));
    let tx = fixture.store.begin().await.expect("begin");
    assert_eq!(tx.lock_step(&key, LockWait::Wait).await.expect("lock"), Locked::Held(first.clone()));
    assert_eq!(lock(&fixture.rival, &key, LockWait::NoWait).await, Locked::Busy);
    assert_eq!(fixture.outbox.lock_timeouts(), 0, "it waited for the lock");
    assert_eq!(find(&fixture.rival, &key).await, Some(first.clone()));
    tx.roll_back().await.expect("roll back");
    assert_eq!(lock(&fixture.rival, &key, LockWait::NoWait).await, Locked::Held(first));
}

pub async fn a_step_that_was_just_begun_is_busy_for_who_does_not_wait(fixture: StepFixture) {
    let key = key();
    let tx = fixture.store.begin().await.expect("begin");
    let first = new(tx.begin_step(&step(&key, 1)).await.expect("begin step"));
    assert_eq!(lock(&fixture.rival, &key, LockWait::NoWait).await, Locked::Busy);
    tx.commit().await.expect("commit");
    assert_eq!(lock(&fixture.rival, &key, LockWait::NoWait).await, Locked::Held(first));
}

/// Guard: beginning inserts first and lets the unique key decide | adapters/sea-orm/src/steps/ledger.rs:
/// `begin` answers `Found` only after a read before the write, and `New` otherwise; the same in
/// adapters/memory/src/step_ledger.rs
/// Guard: in memory, beginning locks the row that it finds | adapters/memory/src/step_ledger.rs: no `hold` in
/// `begin`
pub async fn a_step_that_was_found_by_beginning_stays_as_it_is_until_the_transaction_ends(
    fixture: StepFixture,
) {
    let key = key();
    let first = new(begin(&fixture.store, &step(&key, 1)).await.expect("begin"));
    let tx = fixture.store.begin().await.expect("begin");
    assert_eq!(found(tx.begin_step(&step(&key, 1)).await.expect("begin step")), first);
    assert_eq!(lock(&fixture.rival, &key, LockWait::NoWait).await, Locked::Busy);
    assert!(tx.advance_step(&key, &first, &StepChange::to(2)).await.expect("advance").is_some());
    tx.commit().await.expect("commit");
}

pub async fn who_waits_for_a_lock_sees_the_step_as_it_was_left(fixture: StepFixture) {
    let key = key();
    let first = new(begin(&fixture.store, &step(&key, 1)).await.expect("begin"));
    let tx = fixture.store.begin().await.expect("begin");
    tx.lock_step(&key, LockWait::Wait).await.expect("lock");
    let (side, waiting) = (fixture.rival.clone(), key.clone());
    let second = tokio::spawn(async move { lock(&side, &waiting, LockWait::Wait).await });
    pause().await;
    assert!(!second.is_finished(), "the second transaction did not wait");
    let left = tx.advance_step(&key, &first, &StepChange::to(2)).await.expect("advance").expect("a change");
    tx.commit().await.expect("commit");
    assert_eq!(second.await.expect("a transaction"), Locked::Held(left));
}

pub async fn other_steps_of_a_run_can_be_begun_and_locked_meanwhile(fixture: StepFixture) {
    let one = key();
    let [a, b, c, d] = &["a", "b", "c", "d"].map(|name| one.sibling(name).expect("a key"));
    new(begin(&fixture.store, &step(c, 1)).await.expect("begin"));
    let tx = fixture.store.begin().await.expect("begin");
    new(tx.begin_step(&step(a, 1)).await.expect("begin step"));
    new(tx.begin_step(&step(d, 1)).await.expect("begin step"));
    new(begin(&fixture.rival, &step(b, 1)).await.expect("begin"));
    assert!(matches!(lock(&fixture.rival, c, LockWait::NoWait).await, Locked::Held(_)));
    tx.commit().await.expect("commit");
}

fn spawn_begin(side: &Side, key: &StepKey, state: u8) -> tokio::task::JoinHandle<Begun> {
    let (side, step) = (side.clone(), step(key, state));
    tokio::spawn(async move { until_answered(|| async { begin(&side, &step).await }).await })
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
