//! What tells steps apart.

use claimstream_domain::step::{StepKey, StepResult};

use super::sample::{begin, find, found, key, new, result, run, step};
use crate::{
    StepFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<StepFixture>] = cases!["steps" needs [Steps]:
    a_step_is_identified_by_scope_run_and_step,
    steps_are_compared_byte_by_byte,
    the_longest_keys_and_the_longest_result_are_kept,
];

pub async fn a_step_is_identified_by_scope_run_and_step(fixture: StepFixture) {
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
        let key = one.sibling(name).expect("a key");
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
