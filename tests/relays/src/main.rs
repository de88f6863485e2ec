//! Relays and producers, where a contract has no word for it.
//!
//! | topic | what is shown |
//! |---|---|
//! | [`claims`] | which rows and keys claims lock, and who writes where |
//! | [`settlement`] | settlements that meet others, come again, or find their messages gone |
//! | [`streams`] | streams of claims that stop, wait, wake up, and run on any executor |
//! | [`connections`] | callers' own connections, few connections, many queues, dropped futures |
//! | [`budgets`] | what each step costs on the wire, in statements and round trips |
//! | [`guarded`] | claims behind a lock whose holder dies or pauses |
//! | [`producers`] | programs in other languages that write messages |
#![forbid(unsafe_code)]

pub mod budgets;
pub mod claims;
pub mod connections;
pub mod guarded;
pub mod producers;
pub mod settlement;
pub mod streams;

use std::process::ExitCode;

use claimstream_suite::*;
use claimstream_testbed::Writers;

use claims::{locks, one_writer};
use connections::{callers, cancellation, few_connections, many_queues};
use guarded::fences;
use settlement::{disputes, shared_writes, thin_load};
use streams::{binlog, resting, runtimes, slow, wakeups};

fn main() -> ExitCode {
    if let Some(code) = guarded::run_if_asked() {
        return code;
    }
    let environment = |name: &str| std::env::var(name).ok();
    let mut suite = Suite::default();
    suite.mostly_waits();
    suite.add_missing_servers(environment);
    // What takes longest begins first, so that nothing is left to be waited for alone.
    cancellation::add_to(&mut suite, environment);
    binlog::add_to(&mut suite, environment);
    guarded::add_to(&mut suite, environment);
    if let Some(redis) = suite.add_redis(environment, &["redis::wakeups", "redis::fences"]) {
        wakeups::add_to(&mut suite, &redis);
        fences::add_to(&mut suite, &redis);
    }
    callers::add_to(&mut suite, environment);
    disputes::add_to(&mut suite, environment);
    shared_writes::add_to(&mut suite, environment);
    thin_load::add_to(&mut suite, environment);
    resting::add_to(&mut suite, environment);
    budgets::add_to(&mut suite, environment);
    many_queues::add_to(&mut suite, environment);
    producers::add_to(&mut suite, environment);
    locks::add_to(&mut suite, environment);
    one_writer::add_to(&mut suite);
    runtimes::add_to(&mut suite);
    suite.add_waiting(|suite| {
        slow::add_to(suite, environment);
        few_connections::add_to(suite, environment);
        suite.on_clusters(environment, "budgets", |suite, kind, url| {
            if kind.writers == Writers::All {
                budgets::clusters::add_on(suite, kind.name, url);
            }
        });
    });
    suite.run(environment)
}
