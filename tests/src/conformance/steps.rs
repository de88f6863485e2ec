use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream_domain::{
    Fingerprint,
    step::{Begun, NewStep, Step, StepChange, StepKey, StepResult},
};
use claimstream_ports::{
    StoreError,
    step::{LockWait, Locked},
};
use futures::future::join_all;
use uuid::Uuid;

use crate::suite::{Case, cases};
use crate::{Begin, StepFixture, StepTransaction};

pub const CLAUSES: &[Case<StepFixture>] = cases!["steps" needs [Steps]:
    a_step_is_begun_once_and_then_answered_as_it_stands,
    a_step_keeps_its_fingerprint_and_its_result,
    a_change_without_a_result_keeps_the_one_that_is_there,
    a_step_is_told_apart_by_scope_run_and_step,
    steps_are_compared_byte_by_byte,
    the_longest_keys_and_the_longest_result_are_kept,
    a_step_of_a_rolled_back_transaction_never_was,
    a_transaction_sees_its_own_step,
    a_step_is_found_as_it_stands_and_not_before_it_is_committed,
    a_step_changes_only_from_the_state_and_version_that_are_named,
    every_change_makes_a_larger_version,
    a_change_in_a_rolled_back_transaction_changes_nothing,
    a_step_that_never_was_does_not_change,
    a_step_that_is_absent_is_not_locked,
    a_step_and_a_message_share_a_transaction,
];

/// What a store owes on which two transactions can write at a time.
pub const CONCURRENT: &[Case<StepFixture>] = cases!["steps" needs [Steps, ParallelWrites]:
    the_second_of_two_transactions_waits_and_sees_the_step,
    the_second_of_two_transactions_begins_the_step_if_the_first_rolls_back,
    of_many_parallel_transactions_one_begins_the_step,
    of_many_parallel_changes_from_one_version_one_takes_place,
    a_locked_step_is_busy_at_once_for_who_does_not_wait,
    a_step_that_was_just_begun_is_busy_for_who_does_not_wait,
    a_step_that_was_found_by_beginning_stays_as_it_is_until_the_transaction_ends,
    who_waits_for_a_lock_sees_the_step_as_it_was_left,
    other_steps_of_a_run_can_be_begun_and_locked_meanwhile,
];

type Side = Arc<dyn Begin<dyn StepTransaction>>;

pub async fn a_step_is_begun_once_and_then_answered_as_it_stands(fixture: StepFixture) {
    let key = key();
    let first = new(begin(&fixture.store, &step(&key, 3)).await.expect("begin"));
    assert_eq!(first, step(&key, 3).begun());
    assert_eq!(found(begin(&fixture.rival, &step(&key, 9)).await.expect("begin")), first);
}

pub async fn a_step_keeps_its_fingerprint_and_its_result(fixture: StepFixture) {
    let key = key();
    let asked = step(&key, 1).asked_with(Fingerprint::of(&[b"pay 7"])).with_result(result(b"\0paid\xff"));
    new(begin(&fixture.store, &asked).await.expect("begin"));
    let other = step(&key, 1).asked_with(Fingerprint::of(&[b"pay 8"]));
    assert_eq!(found(begin(&fixture.rival, &other).await.expect("begin")), asked.begun());
    assert_eq!(find(&fixture.store, &key).await, Some(asked.begun()));
}

pub async fn a_change_without_a_result_keeps_the_one_that_is_there(fixture: StepFixture) {
    let key = key();
    let first = new(begin(&fixture.store, &step(&key, 1)).await.expect("begin"));
    let with = StepChange::to(2).with_result(result(b"paid"));
    let second = advance(&fixture.store, &key, &first, &with).await.expect("advance").expect("a change");
    assert_eq!(second.result, Some(result(b"paid")));
    let third = advance(&fixture.rival, &key, &second, &StepChange::to(3)).await.expect("advance");
    assert_eq!(third.expect("a change").result, Some(result(b"paid")));
    assert_eq!(find(&fixture.rival, &key).await.expect("a step").result, Some(result(b"paid")));
}

pub async fn a_step_is_told_apart_by_scope_run_and_step(fixture: StepFixture) {
    let run = run();
    let keys = [
        ("transfer", &*run, "debit"),
        ("other scope", &*run, "debit"),
        ("transfer", &*format!("{run}-other"), "debit"),
        ("transfer", &*run, "other step"),
        ("debit", &*run, "transfer"),
        ("transfer", &*run, ""),
    ];
    for (scope, run, name) in keys {
        let key = StepKey::new(scope, run, name).expect("a key");
        new(begin(&fixture.store, &step(&key, 1)).await.expect("begin"));
    }
}

pub async fn steps_are_compared_byte_by_byte(fixture: StepFixture) {
    let one = key();
    for name in ["debit ", "Debit", "d\u{e9}bit", "de\u{301}bit", "\u{1f4b6}", "\u{1f4b7}", "debit\0", ""] {
        let key = one.beside(name).expect("a key");
        new(begin(&fixture.store, &step(&key, 1)).await.expect("begin"));
        found(begin(&fixture.rival, &step(&key, 1)).await.expect("begin"));
    }
}

pub async fn the_longest_keys_and_the_longest_result_are_kept(fixture: StepFixture) {
    let (scope, run, name) = ("\u{e4}".repeat(50), format!("{}{}", run(), "r".repeat(219)), "s".repeat(99));
    let long = StepKey::new(&scope, &run, &format!("{name}a")).expect("a key");
    let other = StepKey::new(&scope, &run, &format!("{name}b")).expect("a key");
    let asked = step(&long, 255).with_result(result(&vec![0xa5; StepResult::MAX_BYTES]));
    new(begin(&fixture.store, &asked).await.expect("begin"));
    new(begin(&fixture.store, &step(&other, 1)).await.expect("begin"));
    assert_eq!(find(&fixture.rival, &long).await, Some(asked.begun()));
}

pub async fn a_step_of_a_rolled_back_transaction_never_was(fixture: StepFixture) {
    let key = key();
    let tx = fixture.store.begin().await.expect("begin");
    new(tx.begin_step(&step(&key, 1)).await.expect("begin step"));
    tx.roll_back().await.expect("roll back");
    assert_eq!(new(begin(&fixture.rival, &step(&key, 2)).await.expect("begin")).state, 2);
}

pub async fn a_transaction_sees_its_own_step(fixture: StepFixture) {
    let key = key();
    let tx = fixture.store.begin().await.expect("begin");
    assert_eq!(tx.find_step(&key).await.expect("find"), None);
    let first = new(tx.begin_step(&step(&key, 1)).await.expect("begin step"));
    assert_eq!(tx.find_step(&key).await.expect("find"), Some(first.clone()));
    let second = tx.advance_step(&key, &first, &StepChange::to(2)).await.expect("advance").expect("a change");
    assert_eq!(found(tx.begin_step(&step(&key, 7)).await.expect("begin step")), second);
    for wait in [LockWait::Wait, LockWait::NoWait] {
        assert_eq!(tx.lock_step(&key, wait).await.expect("lock"), Locked::Held(second.clone()));
    }
    tx.commit().await.expect("commit");
    assert_eq!(found(begin(&fixture.rival, &step(&key, 7)).await.expect("begin")), second);
}

pub async fn a_step_is_found_as_it_stands_and_not_before_it_is_committed(fixture: StepFixture) {
    let key = key();
    assert_eq!(find(&fixture.rival, &key).await, None);
    let first = new(begin(&fixture.store, &step(&key, 1)).await.expect("begin"));
    assert_eq!(find(&fixture.rival, &key).await, Some(first.clone()));
    let second = advance(&fixture.store, &key, &first, &StepChange::to(2)).await.expect("advance");
    assert_eq!(find(&fixture.rival, &key).await, second);
}

pub async fn a_step_changes_only_from_the_state_and_version_that_are_named(fixture: StepFixture) {
    let key = key();
    let first = new(begin(&fixture.store, &step(&key, 1)).await.expect("begin"));
    let second = advance(&fixture.rival, &key, &first, &StepChange::to(2)).await.expect("advance");
    let second = second.expect("a change");
    let wrong = [first, Step { state: 1, ..second.clone() }, Step { version: 3, ..second.clone() }];
    for from in wrong {
        assert_eq!(advance(&fixture.store, &key, &from, &StepChange::to(3)).await.expect("advance"), None);
    }
    assert_eq!(find(&fixture.store, &key).await, Some(second.clone()));
    let third = advance(&fixture.store, &key, &second, &StepChange::to(3)).await.expect("advance");
    assert_eq!(third.expect("a change").state, 3);
}

pub async fn every_change_makes_a_larger_version(fixture: StepFixture) {
    let key = key();
    let mut from = new(begin(&fixture.store, &step(&key, 5)).await.expect("begin"));
    for state in [5, 6, 5] {
        let told = advance(&fixture.store, &key, &from, &StepChange::to(state)).await.expect("advance");
        let moved = found(begin(&fixture.rival, &step(&key, 0)).await.expect("begin"));
        assert_eq!(told.as_ref(), Some(&moved));
        assert!(moved.version > from.version, "{moved:?} after {from:?}");
        assert_eq!(moved.state, state);
        from = moved;
    }
}

pub async fn a_change_in_a_rolled_back_transaction_changes_nothing(fixture: StepFixture) {
    let key = key();
    let first = new(begin(&fixture.store, &step(&key, 1)).await.expect("begin"));
    let tx = fixture.store.begin().await.expect("begin");
    let change = StepChange::to(2).with_result(result(b"paid"));
    assert!(tx.advance_step(&key, &first, &change).await.expect("advance").is_some());
    tx.roll_back().await.expect("roll back");
    assert_eq!(found(begin(&fixture.rival, &step(&key, 9)).await.expect("begin")), first);
    assert!(advance(&fixture.rival, &key, &first, &StepChange::to(3)).await.expect("advance").is_some());
}

pub async fn a_step_that_never_was_does_not_change(fixture: StepFixture) {
    let (key, other) = (key(), key());
    let first = new(begin(&fixture.store, &step(&other, 1)).await.expect("begin"));
    assert_eq!(advance(&fixture.store, &key, &first, &StepChange::to(2)).await.expect("advance"), None);
    assert_eq!(find(&fixture.store, &key).await, None);
}

pub async fn a_step_that_is_absent_is_not_locked(fixture: StepFixture) {
    let key = key();
    for wait in [LockWait::Wait, LockWait::NoWait] {
        let tx = fixture.store.begin().await.expect("begin");
        assert_eq!(tx.lock_step(&key, wait).await.expect("lock"), Locked::Absent);
        tx.roll_back().await.expect("roll back");
    }
    new(begin(&fixture.rival, &step(&key, 1)).await.expect("begin"));
}

pub async fn a_step_and_a_message_share_a_transaction(fixture: StepFixture) {
    let key = key();
    for commit in [false, true] {
        let tx = fixture.store.begin().await.expect("begin");
        new(tx.begin_step(&step(&key, 1)).await.expect("begin step"));
        tx.enqueue(&[fixture.outbox.message()]).await.expect("enqueue");
        if commit {
            tx.commit().await.expect("commit");
        } else {
            tx.roll_back().await.expect("roll back");
        }
        assert_eq!(fixture.outbox.rival.take_all().await.len(), usize::from(commit));
    }
    found(begin(&fixture.rival, &step(&key, 1)).await.expect("begin"));
}

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

pub async fn a_locked_step_is_busy_at_once_for_who_does_not_wait(fixture: StepFixture) {
    let key = key();
    let first = new(begin(&fixture.store, &step(&key, 1)).await.expect("begin"));
    let tx = fixture.store.begin().await.expect("begin");
    assert_eq!(tx.lock_step(&key, LockWait::Wait).await.expect("lock"), Locked::Held(first.clone()));
    let begun = Instant::now();
    assert_eq!(lock(&fixture.rival, &key, LockWait::NoWait).await, Locked::Busy);
    assert!(begun.elapsed() < AT_ONCE, "it waited for {:?}", begun.elapsed());
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
    let [a, b, c, d] = &["a", "b", "c", "d"].map(|name| one.beside(name).expect("a key"));
    new(begin(&fixture.store, &step(c, 1)).await.expect("begin"));
    let tx = fixture.store.begin().await.expect("begin");
    new(tx.begin_step(&step(a, 1)).await.expect("begin step"));
    new(tx.begin_step(&step(d, 1)).await.expect("begin step"));
    new(begin(&fixture.rival, &step(b, 1)).await.expect("begin"));
    assert!(matches!(lock(&fixture.rival, c, LockWait::NoWait).await, Locked::Held(_)));
    tx.commit().await.expect("commit");
}

fn key() -> StepKey {
    StepKey::new("transfer", &run(), "debit").expect("a key")
}

fn run() -> String {
    Uuid::now_v7().to_string()
}

fn step(key: &StepKey, state: u8) -> NewStep {
    NewStep::new(key.clone(), state)
}

fn result(bytes: &[u8]) -> StepResult {
    StepResult::new(bytes).expect("a result")
}

fn new(begun: Begun) -> Step {
    match begun {
        Begun::New(step) => step,
        Begun::Found(step) => panic!("{step:?} was there already"),
    }
}

fn found(begun: Begun) -> Step {
    match begun {
        Begun::Found(step) => step,
        Begun::New(step) => panic!("{step:?} is new"),
    }
}

async fn begin(side: &Side, step: &NewStep) -> Result<Begun, StoreError> {
    let tx = side.begin().await?;
    let begun = tx.begin_step(step).await?;
    tx.commit().await?;
    Ok(begun)
}

async fn advance(
    side: &Side,
    key: &StepKey,
    from: &Step,
    change: &StepChange,
) -> Result<Option<Step>, StoreError> {
    let tx = side.begin().await?;
    let changed = tx.advance_step(key, from, change).await?;
    tx.commit().await?;
    Ok(changed)
}

async fn find(side: &Side, key: &StepKey) -> Option<Step> {
    let tx = side.begin().await.expect("begin");
    let found = tx.find_step(key).await.expect("find");
    tx.roll_back().await.expect("roll back");
    found
}

async fn lock(side: &Side, key: &StepKey, wait: LockWait) -> Locked {
    let tx = side.begin().await.expect("begin");
    let locked = tx.lock_step(key, wait).await.expect("lock");
    tx.roll_back().await.expect("roll back");
    locked
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

/// Far less than a statement waits for a lock.
const AT_ONCE: Duration = Duration::from_secs(2);

/// Gives what was spawned a chance to come to its wait.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}
