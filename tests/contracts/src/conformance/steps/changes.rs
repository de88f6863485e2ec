//! How a step is begun and changed.

use claimstream_domain::{
    Fingerprint,
    step::{Step, StepChange},
};
use claimstream_ports::step::{LockWait, Locked};

use super::sample::{advance, begin, find, found, key, new, result, step};
use crate::{
    StepFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<StepFixture>] = cases!["steps" needs [Steps]:
    a_step_is_begun_once_and_then_answered_as_it_stands,
    a_step_keeps_its_fingerprint_and_its_result,
    a_change_without_a_result_keeps_the_one_that_is_there,
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

/// Guard: a step changes only from the version that was read | adapters/sea-orm/src/sql/steps/change.sql: no
/// `AND version = :version`; in memory no comparison
/// Guard: a step changes only from the state that was read | adapters/sea-orm/src/sql/steps/change.sql: no
/// `AND state = :from_state`; in memory no comparison
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
        let answer = advance(&fixture.store, &key, &from, &StepChange::to(state)).await.expect("advance");
        let moved = found(begin(&fixture.rival, &step(&key, 0)).await.expect("begin"));
        assert_eq!(answer.as_ref(), Some(&moved));
        assert!(moved.version > from.version, "{moved:?} after {from:?}");
        assert_eq!(moved.state, state);
        from = moved;
    }
}

/// Guard: the row's origin decides which call began a step, not a count of rows |
/// adapters/sea-orm/src/steps/ledger.rs: `rows_affected == 1`
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

/// Guard: beginning reads with a lock after the insert | adapters/sea-orm/src/steps/ledger.rs: a plain read
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
