//! What happens to relays on clusters whose nodes are killed, paused, cut off, brought back and restarted one after the other.
//!
//! The variable `CLAIMSTREAM_CLUSTERS` lists the clusters; each test starts one of its own by `tests/clusters`.
#![forbid(unsafe_code)]

mod commits;
mod course;
mod faults;
mod flows;
mod lost_records;
mod takeover;

use std::process::ExitCode;

use claimstream_suite::*;
use claimstream_testbed::{CLUSTERS, ClusterKind, Keeps, Writers};

fn main() -> ExitCode {
    let environment = |name: &str| std::env::var(name).ok();
    let mut suite = Suite::default();
    suite.add_waiting(|suite| add_to(suite, environment));
    suite.run(environment)
}

/// Adds the clusters that the environment asks for, and names the others.
fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for kind in ClusterKind::ALL {
        if !kind.is_asked_for(&environment) {
            suite.add_not_run(kind.name, &format!("{CLUSTERS} does not name it; tests/run says how"));
            continue;
        }
        suite.long("clusters", |suite| add_on(suite, kind));
    }
    for name in ClusterKind::unknown(&environment) {
        let known = ClusterKind::ALL.map(|kind| kind.name);
        suite.add_test(&format!("{name}::is_known"), move || {
            panic!("{CLUSTERS} names {name:?}, known are {known:?}")
        });
    }
    suite.on_clusters(environment, "commits", |suite, kind, url| {
        if kind.writers == Writers::All {
            commits::add_on(suite, kind.name, url);
        }
    });
}

fn add_on(suite: &mut Suite, kind: ClusterKind) {
    match (kind.writers, kind.keeps) {
        (Writers::All, _) => faults::add_to(suite, kind),
        (Writers::One, Keeps::EachCommit) => takeover::add_to(suite, kind),
        (Writers::One, Keeps::WhatWasReceived) => {
            takeover::add_to(suite, kind);
            lost_records::add_to(suite, kind);
        }
    }
    if kind.keeps == Keeps::EachCommit {
        flows::add_to(suite, kind);
    }
}
