//! The model test: random operations, run on two stores at a time, must look the same from outside.
//! Promise: every database behaves like the reference model, also when strategies share shards

mod operation;
mod owned;
mod sabotage;

use std::sync::Arc;

use proptest::{
    collection::vec,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};

use crate::{
    Suite,
    backend::{Backend, MemoryBackend},
    repetitions,
    suite::{Need, RUNTIME},
};
use operation::{Observation, Operation, run_all};
use sabotage::{Sabotage, Sabotaged};

/// Adds the model test with the reference model on one side and this backend on the other. Where shards are owned, which of the
/// due messages come depends on who asks, and a reference of its own follows the store.
pub fn add_to(suite: &mut Suite, backend: Arc<dyn Backend>) {
    if backend.has().contains(&Need::Ownership) {
        return owned::add_to(suite, backend);
    }
    let (store, strategy) = (backend.name(), backend.strategy());
    let name = format!("{store}::{strategy}::model::a1_1_behaves_like_the_reference");
    suite.add_test(&name, move || {
        if let Err(difference) = compare(Arc::new(MemoryBackend), backend, repetitions(CASES)) {
            panic!("{difference}");
        }
    });
}

/// Adds the proof that the model test notices stores that behave otherwise.
pub fn add_proof_to(suite: &mut Suite) {
    for sabotage in Sabotage::ALL {
        let name = format!("model::notices_a_store_that_{}", sabotage.name());
        suite.add_test(&name, move || {
            let sabotaged = Arc::new(Sabotaged::new(MemoryBackend, sabotage));
            assert!(
                compare(Arc::new(MemoryBackend), sabotaged, repetitions(CASES)).is_err(),
                "it was not noticed"
            );
        });
    }
    owned::add_proof_to(suite);
}

/// How many sequences are drawn in all; a quarter of them notices each sabotage.
const CASES: u32 = 128;

/// Runs random operations on two backends; the shortest sequence that was found to differ is the error.
///
/// The same sequences are drawn each time, so many `cases` unless `PROPTEST_CASES` says another number.
fn compare(left: Arc<dyn Backend>, right: Arc<dyn Backend>, cases: u32) -> Result<(), String> {
    let given = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = given.unwrap_or(cases);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 10_000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let operations = vec(Operation::any(), 1..40);
    let run = runner.run(&operations, |operations| {
        let (one, other) = RUNTIME.block_on(both(&*left, &*right, &operations));
        let Some(n) = (0..one.len()).find(|n| one[*n] != other[*n]) else { return Ok(()) };
        Err(TestCaseError::fail(format!(
            "{} was answered differently:\n{}: {:?}\n{}: {:?}",
            operations.get(n).map_or("the last look".to_owned(), |operation| format!("{operation:?}")),
            left.name(),
            one[n],
            right.name(),
            other[n],
        )))
    });
    run.map_err(|e| e.to_string())
}

async fn both(
    left: &dyn Backend,
    right: &dyn Backend,
    operations: &[Operation],
) -> (Vec<Observation>, Vec<Observation>) {
    let (left, right) = (left.swept_fixture().await, right.swept_fixture().await);
    let (left, right) = (left.expect("a fixture"), right.expect("a fixture"));
    futures::future::join(run_all(&left, operations), run_all(&right, operations)).await
}
