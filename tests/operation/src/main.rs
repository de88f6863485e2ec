//! What operators meet, where a contract has no word for it.
//!
//! | topic | what is shown |
//! |---|---|
//! | [`failures`] | failing servers, networks and disks, failovers, missing tables |
//! | [`operating`] | openings, rights, errors with the way out, mixed strategies, the view |
//! | [`upkeep`] | what a sweep takes away and what it must leave |
#![forbid(unsafe_code)]

pub mod failures;
pub mod operating;
pub mod upkeep;

use std::process::ExitCode;

use claimstream_suite::*;

use failures::{failover, lost_notes, missing_table, outages, passing_errors, set_back, several_servers};
use operating::{
    capabilities, error_kinds, new_shards, openings, operators_reads, outbox_view, resharding, rights,
    schema_plans, server_defaults, set_back_clocks, strategies, telemetry,
};

fn main() -> ExitCode {
    let environment = |name: &str| std::env::var(name).ok();
    let mut suite = Suite::default();
    suite.mostly_waits();
    suite.add_missing_servers(environment);
    // What takes longest begins first, so that nothing is left to be waited for alone.
    upkeep::add_to(&mut suite, environment);
    openings::add_to(&mut suite, environment);
    capabilities::add_to(&mut suite, environment);
    strategies::add_to(&mut suite, environment);
    set_back::add_to(&mut suite, environment);
    missing_table::add_to(&mut suite, environment);
    lost_notes::add_to(&mut suite, environment);
    outages::add_to(&mut suite, environment);
    error_kinds::add_to(&mut suite, environment);
    rights::add_to(&mut suite, environment);
    schema_plans::add_to(&mut suite, environment);
    server_defaults::add_to(&mut suite, environment);
    set_back_clocks::add_to(&mut suite, environment);
    failover::add_to(&mut suite, environment);
    several_servers::add_to(&mut suite, environment);
    outbox_view::add_to(&mut suite, environment);
    operators_reads::add_to(&mut suite, environment);
    new_shards::add_to(&mut suite, environment);
    resharding::add_to(&mut suite, environment);
    telemetry::add_to(&mut suite, environment);
    suite.add_waiting(|suite| passing_errors::add_to(suite, environment));
    suite.run(environment)
}
