use std::collections::BTreeSet;

use super::tree::{File, Tree};
use crate::{conformance, scenarios, suite::Case};

/// A clause that is written and not listed would never be run.
pub(super) fn are_all_listed(tree: &Tree) -> Vec<String> {
    let listed: BTreeSet<(&str, &str)> = listed().collect();
    assert!(listed.len() >= 150, "only {} clauses are listed", listed.len());
    let mut files = tree.files("tests/src/conformance", ".rs", 10);
    files.extend(tree.files("tests/src/scenarios", ".rs", 3));
    files.iter().flat_map(|file| unlisted(file, &listed)).collect()
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

fn unlisted(file: &File, listed: &BTreeSet<(&str, &str)>) -> Vec<String> {
    let topic = topic(&file.path);
    let written = file.code().filter_map(|(_, line)| line.strip_prefix("pub async fn ")?.split('(').next());
    let missing = written.filter(|name| !listed.contains(&(topic, *name)));
    missing.map(|name| format!("{}: {name} is not listed", file.path)).collect()
}

/// The file or the folder below `conformance`; all scenarios are one topic.
fn topic(path: &str) -> &str {
    let below = path.trim_start_matches("tests/src/").trim_start_matches("conformance/");
    below.split(['/', '.']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_clause_that_is_not_listed() {
        let file = File::new(
            "tests/src/conformance/claim.rs",
            "pub async fn one(s: Fixture) {}\npub async fn two(s: Fixture) {}\n",
        );
        assert_eq!(
            unlisted(&file, &[("claim", "one")].into()),
            ["tests/src/conformance/claim.rs: two is not listed"]
        );
        assert_eq!(unlisted(&file, &[("settle", "one"), ("claim", "two")].into()).len(), 1);
    }

    #[test]
    fn a_topic_is_a_file_or_a_folder() {
        assert_eq!(topic("tests/src/conformance/claim.rs"), "claim");
        assert_eq!(topic("tests/src/conformance/claim/leases.rs"), "claim");
        assert_eq!(topic("tests/src/scenarios/outbox.rs"), "scenarios");
        assert_eq!(topic("tests/src/scenarios/relay/poison.rs"), "scenarios");
    }
}
