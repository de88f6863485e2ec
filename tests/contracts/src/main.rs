//! What holds on every store with every strategy: contracts and courses of events.
//!
//! | topic | what is shown |
//! |---|---|
//! | [`conformance`] | the contracts of the ports, sentence by sentence |
//! | [`scenarios`] | the acceptance scenarios, by their numbers |
//! | [`model`] | random operations, two stores side by side |
//! | [`order`] | the order of keys under random failures, kills and take-overs |
//! | [`redelivery`] | settlements of messages that come again |
#![forbid(unsafe_code)]

pub mod conformance;
pub mod everywhere;
pub mod inventory;
pub mod model;
pub mod order;
pub mod redelivery;
pub mod scenarios;

use std::process::ExitCode;

use claimstream_suite::*;

fn main() -> ExitCode {
    let environment = |name: &str| std::env::var(name).ok();
    let mut suite = everything(environment);
    inventory::add_to(&mut suite, || everything(Server::anywhere));
    suite.run(environment)
}

/// All tests on the servers that the environment names.
fn everything(environment: impl Fn(&str) -> Option<String> + Copy) -> Suite {
    let mut suite = Suite::default();
    everywhere::add_to(&mut suite, environment);
    model::add_proof_to(&mut suite);
    suite
}
