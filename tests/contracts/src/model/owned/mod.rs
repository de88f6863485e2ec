//! The model test of `shard_lease`: two processes at one shard do random things, and a reference that knows owned shards, books
//! and what was cut off follows them.
//!
//! Which of the due messages come with a claim is the store's choice, so they are not compared with a sequence that is known
//! beforehand. What may come, as which attempt and why, what may not be held up, and every other answer is.

mod reference;
mod runner;
mod step;

use std::sync::Arc;

use proptest::{
    collection::vec,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};

use super::sabotage::{Sabotage, Sabotaged};
use crate::{
    Suite,
    backend::{Backend, SeaOrmBackend},
    repetitions,
    suite::RUNTIME,
};
use runner::Runner;
use step::Step;

/// How many sequences notice each sabotage.
const CASES: u32 = 48;

/// Adds the model test of a backend whose shards are owned.
pub(super) fn add_to(suite: &mut Suite, backend: Arc<dyn Backend>) {
    // Guard: a take-over counts an attempt for each message in flight |
    // adapters/sea-orm/src/strategy/shard_lease/lease/acquire.rs `take_over`: no `charge`
    // Guard: a renewal extends the claim | adapters/sea-orm/src/strategy/shard_lease/settle/renew.rs
    // `extend`: the deadline stays
    // Guard: messages in flight are not handed out | adapters/sea-orm/src/strategy/shard_lease/claim/pick.rs:
    // a claim counts as expired at once
    // Guard: the lease row lists all that is in flight |
    // adapters/sea-orm/src/strategy/shard_lease/shard_state.rs `without`: leaves out a third
    // Guard: messages that were read ahead are given back |
    // adapters/sea-orm/src/strategy/shard_lease/give_back.rs: nothing is settled
    let name =
        format!("{}::{}::model::owned_shards_behave_like_the_reference", backend.name(), backend.strategy());
    // The rules are the same everywhere, and a sequence takes a server several times as long.
    let cases = if backend.name() == "sqlite" { CASES } else { repetitions(12) };
    suite.add_test(&name, move || {
        if let Err(difference) = follow(&*backend, cases, 300) {
            panic!("{difference}");
        }
    });
}

/// Adds the proof that it notices stores that behave otherwise.
pub(super) fn add_proof_to(suite: &mut Suite) {
    for sabotage in Sabotage::ALL.into_iter().chain(Sabotage::OF_OWNERS) {
        let name = format!("model::owned_shards_notice_a_store_that_{}", sabotage.name());
        suite.add_test(&name, move || {
            let sabotaged = Sabotaged::new(SeaOrmBackend::sqlite("shard_lease"), sabotage);
            let noticed = follow(&sabotaged, CASES, 0);
            assert!(noticed.is_err(), "it was not noticed");
        });
    }
}

/// Runs random steps; the shortest sequence after which the store did what it must not is the error.
///
/// The same sequences are drawn each time, so many `cases` unless `PROPTEST_CASES` says another number. `max_shrink_iters` is how often a shorter one is
/// tried.
fn follow(backend: &dyn Backend, cases: u32, max_shrink_iters: u32) -> Result<(), String> {
    let given = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = given.unwrap_or(cases);
    let config = Config { cases, failure_persistence: None, max_shrink_iters, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let run = runner.run(&vec(Step::any(), 1..40), |steps| {
        let followed = RUNTIME.block_on(async {
            let fixture = backend.swept_fixture().await.expect("a fixture");
            Runner::on(&fixture).run(&steps).await
        });
        followed.map_err(TestCaseError::fail)
    });
    run.map_err(|e| e.to_string())
}
