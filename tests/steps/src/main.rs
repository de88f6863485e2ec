//! What stands on the step ledger, under duplicates, crashes and kills.
//!
//! | topic | what is shown |
//! |---|---|
//! | [`commits`] | effects with a statement that commits by itself |
//! | [`inbox`] | effects once under redelivery |
//! | [`sagas`] | sagas end whole or not at all |
//! | [`tcc`] | the branches of a transaction end alike |
//! | [`mishaps`] | many of both at once, for as long as the command line says |
#![forbid(unsafe_code)]

pub mod commits;
pub mod inbox;
pub mod mishaps;
pub mod sagas;
pub mod tcc;

use std::process::ExitCode;

use claimstream_suite::*;

fn main() -> ExitCode {
    if let Some(done) = sagas::run_job() {
        return done;
    }
    if let Some(done) = mishaps::run_if_asked() {
        return done;
    }
    let environment = |name: &str| std::env::var(name).ok();
    let mut suite = Suite::default();
    suite.add_missing_servers(environment);
    // What takes longest begins first, so that nothing is left to be waited for alone.
    sagas::add_to(&mut suite, environment);
    tcc::add_to(&mut suite, environment);
    inbox::add_to(&mut suite, environment);
    commits::add_to(&mut suite, environment);
    suite.add_waiting(|suite| {
        suite.on_clusters(environment, "steps", |suite, kind, url| {
            inbox::add_on(suite, kind.name, url);
            sagas::add_on(suite, kind.name, url);
            tcc::add_on(suite, kind.name, url);
        });
    });
    suite.run(environment)
}
