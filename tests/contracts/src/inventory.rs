//! Rules about the whole of the contracts: each clause is listed, a backend has each need, and the README names what is run.
//! Promise: every clause and scenario is listed and runs on some backend

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{Suite, conformance, scenarios, suite::Case};

/// Adds the rules; `whole` is every contract as it would be run if every server were here.
pub(crate) fn add_to(suite: &mut Suite, whole: impl Fn() -> Suite + Clone + Send + 'static) {
    let covered = whole.clone();
    add(suite, "the_readme_names_every_store_and_strategy", move || {
        let (whole, readme) = (whole(), read(Path::new(README)));
        let inventory = whole.report().inventory();
        assert!(inventory.len() >= 5, "only {} stores are run", inventory.len());
        not_named(&readme, &inventory, whole.tests())
    });
    add(suite, "every_need_is_had_and_every_case_runs_somewhere", move || covered().coverage().gaps());
    add(suite, "every_clause_and_scenario_is_listed", unlisted_everywhere);
    suite.add_test("inventory::finds_a_store_that_is_not_named_and_tests_that_are_not_there", || {
        let readme = "It has more than 1,200 tests.\nsqlite: auto, shard_lease\n";
        let inventory = ["sqlite: auto, shard_lease".to_owned()];
        assert!(not_named(readme, &inventory, 1_201).is_empty());
        assert_eq!(not_named(readme, &inventory, 1_200).len(), 1);
        assert_eq!(not_named("sqlite: auto", &inventory, 1_201).len(), 2);
    });
    suite.add_test("inventory::finds_a_clause_that_is_not_listed", || {
        let text = "pub async fn one(s: Fixture) {}\npub async fn two(s: Fixture) {}\n";
        let path = "conformance/claim/leases.rs";
        assert_eq!(unlisted(path, text, &[("claim", "one")].into()), [format!("{path}: two is not listed")]);
        assert_eq!(unlisted(path, text, &[("settle", "one"), ("claim", "two")].into()).len(), 1);
        assert_eq!(topic("conformance/claim.rs"), "claim");
        assert_eq!(topic("scenarios/relay/poison.rs"), "scenarios");
    });
}

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

fn add(suite: &mut Suite, name: &str, rule: impl FnOnce() -> Vec<String> + Send + 'static) {
    suite.add_test(&format!("inventory::{name}"), move || {
        let complaints = rule();
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    });
}

/// The README has a line for each store with its strategies, and promises no more tests than there are.
fn not_named(readme: &str, inventory: &[String], tests: usize) -> Vec<String> {
    let missing = inventory.iter().filter(|line| !readme.lines().any(|shown| shown == *line));
    let mut complaints: Vec<_> = missing.map(|line| format!("README.md: the suite runs {line}")).collect();
    let promised = readme.split_once("more than ").and_then(|(_, rest)| rest.split_once(" tests"));
    match promised.map(|(count, _)| count.replace(',', "").parse::<usize>()) {
        Some(Ok(promised)) if promised < tests => {}
        stated => complaints
            .push(format!("README.md: there are {tests} tests of contracts, and it says {stated:?}")),
    }
    complaints
}

/// A clause that is written and not listed would never be run.
fn unlisted_everywhere() -> Vec<String> {
    let listed: BTreeSet<(&str, &str)> = listed().collect();
    assert!(listed.len() >= 150, "only {} clauses are listed", listed.len());
    let mut files = Vec::new();
    for folder in ["conformance", "scenarios"] {
        collect(&Path::new(SOURCES).join(folder), &mut files);
    }
    assert!(files.len() >= 40, "only {} files have clauses", files.len());
    let of_file = |path: &PathBuf| {
        let place = path.strip_prefix(SOURCES).expect("a path of this crate");
        unlisted(&place.to_string_lossy().replace('\\', "/"), &read(path), &listed)
    };
    files.iter().flat_map(of_file).collect()
}

fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
    let outbox = names(conformance::outbox().chain(scenarios::outbox()));
    let server = names(conformance::server().chain(scenarios::server()));
    let notifications = names(conformance::notifications().chain(scenarios::notifications()));
    let steps = names(conformance::steps()).chain(names(scenarios::timers()));
    outbox.chain(server).chain(notifications).chain(steps).chain(names(conformance::locks()))
}

fn names<F: 'static>(
    cases: impl Iterator<Item = &'static Case<F>>,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    cases.map(|case| (case.topic, case.name))
}

fn unlisted(path: &str, text: &str, listed: &BTreeSet<(&str, &str)>) -> Vec<String> {
    let written = text.lines().filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next());
    let missing = written.filter(|name| !listed.contains(&(topic(path), *name)));
    missing.map(|name| format!("{path}: {name} is not listed")).collect()
}

/// The file or the folder below `conformance`; all scenarios are one topic.
fn topic(path: &str) -> &str {
    path.trim_start_matches("conformance/").split(['/', '.']).next().unwrap_or_default()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
