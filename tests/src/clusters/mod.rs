//! What happens to relays on clusters whose nodes are killed, paused, cut off, brought back and restarted one after the other.
//!
//! The variable `CLAIMSTREAM_CLUSTERS` lists the clusters; each trial starts one of its own by `tests/clusters`.

mod commits;
mod course;
mod faults;
mod flows;
mod lost_records;
mod takeover;

use claimstream_testbed::{CLUSTERS, ClusterKind, Keeps, Server, Writers};

use crate::{Suite, backend::Backends, budgets, inbox, sagas, tcc};

/// Adds the clusters that the environment asks for, and names the others.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    suite.long("clusters", |suite| add_all_to(suite, environment));
}

fn add_all_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for kind in ClusterKind::ALL {
        if !kind.is_asked_for(&environment) {
            suite.add_not_run(kind.name, &format!("{CLUSTERS} does not name it; tests/run says how"));
            continue;
        }
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
        add_clauses_to(suite, kind, &environment);
    }
    for name in ClusterKind::unknown(&environment) {
        let known = ClusterKind::ALL.map(|kind| kind.name);
        suite.add_trial(&format!("{name}::is_known"), move || {
            panic!("{CLUSTERS} names {name:?}, known are {known:?}")
        });
    }
}

/// The variable that has every clause run on clusters that is run on single servers, if it is `all`.
const CLAUSES: &str = "CLAIMSTREAM_CLUSTER_CLAUSES";

/// Adds the clauses and scenarios of every port on a node of a cluster whose nodes keep every commit, if one runs.
fn add_clauses_to(suite: &mut Suite, kind: ClusterKind, environment: impl Fn(&str) -> Option<String>) {
    if kind.keeps != Keeps::EachCommit {
        return;
    }
    let Some(url) = kind.url(&environment) else {
        suite.add_not_run(
            &format!("{}::clauses", kind.name),
            &format!("{} is not set; tests/run sets it", kind.variable),
        );
        return;
    };
    if environment(CLAUSES).as_deref() == Some("all") {
        let server = Server { name: kind.name, variable: kind.variable, skips_locked: true };
        suite.add_backends(Backends::of_server(server, &url, None));
    } else {
        suite.add_backends(Backends::of_cluster(kind.name, &url));
        suite.add_not_run(&format!("{}::other_clauses", kind.name), &format!("{CLAUSES}=all runs them"));
    }
    inbox::add_on(suite, kind.name, &url);
    sagas::add_on(suite, kind.name, &url);
    tcc::add_on(suite, kind.name, &url);
    if kind.writers == Writers::All {
        commits::add_on(suite, kind.name, &url);
        budgets::clusters::add_on(suite, kind.name, &url);
    }
}
