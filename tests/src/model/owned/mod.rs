//! The model test of `shard_lease`: two processes at one shard do random things, and a reference that knows owned shards, books
//! and what was cut off follows them.
//!
//! Which of the due messages come with a claim is the store's choice, so they are not compared with a sequence that is known
//! beforehand. What may come, as which attempt and why, what may not be held up, and every other answer is.

mod act;
mod player;
mod reference;

use std::sync::Arc;

use proptest::{
    collection::vec,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};

use super::sabotage::{Sabotage, Sabotaged};
use crate::{
    Suite,
    backend::{SeaOrmVenue, Venue},
    suite::RUNTIME,
};
use act::Act;
use player::Player;

/// Adds the model test of a venue whose shards are owned.
pub(super) fn add_to(suite: &mut Suite, venue: Arc<dyn Venue>) {
    let name =
        format!("{}::{}::model::owned_shards_behave_like_the_reference", venue.name(), venue.strategy());
    // The rules are the same everywhere, and a sequence takes a server several times as long.
    let cases = if venue.name() == "sqlite" { 48 } else { 12 };
    suite.add_trial(&name, move || {
        if let Err(difference) = follow(&*venue, cases, 300) {
            panic!("{difference}");
        }
    });
}

/// Adds the proof that it notices stores that behave otherwise.
pub(super) fn add_proof_to(suite: &mut Suite) {
    for sabotage in Sabotage::ALL.into_iter().chain(Sabotage::OF_OWNERS) {
        let name = format!("model::owned_shards_notice_a_store_that_{}", sabotage.name());
        suite.add_trial(&name, move || {
            let sabotaged = Sabotaged::new(SeaOrmVenue::sqlite("shard_lease"), sabotage);
            let noticed = follow(&sabotaged, 64, 0);
            assert!(noticed.is_err(), "it was not noticed");
        });
    }
}

/// Plays random acts; the shortest sequence after which the store did what it must not is the error.
///
/// The same sequences are drawn each time, so many `cases` unless `PROPTEST_CASES` says another number. `max_shrink_iters` is how often a shorter one is
/// tried.
fn follow(venue: &dyn Venue, cases: u32, max_shrink_iters: u32) -> Result<(), String> {
    let given = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = given.unwrap_or(cases);
    let config = Config { cases, failure_persistence: None, max_shrink_iters, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let run = runner.run(&vec(Act::any(), 1..40), |acts| {
        let followed = RUNTIME.block_on(async {
            let stage = venue.swept_stage().await.expect("a stage");
            Player::on(&stage).play(&acts).await
        });
        followed.map_err(TestCaseError::fail)
    });
    run.map_err(|e| e.to_string())
}
