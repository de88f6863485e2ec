use std::collections::BTreeSet;

use super::tree::{File, Tree};
use crate::{conformance, scenarios};

/// A clause that is written and not listed would never be played.
pub(super) fn are_all_listed(tree: &Tree) -> Vec<String> {
    let listed: BTreeSet<(&str, &str)> = listed().collect();
    assert!(listed.len() >= 150, "only {} clauses are listed", listed.len());
    let mut files = tree.files("tests/src/conformance", ".rs", 10);
    files.extend(tree.files("tests/src/scenarios", ".rs", 3));
    files.iter().flat_map(|file| unlisted(file, &listed)).collect()
}

fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
    let outbox = conformance::outbox().chain(conformance::concurrent()).chain(conformance::payload());
    let outbox = outbox
        .chain(conformance::ownership())
        .chain(conformance::ahead())
        .chain(conformance::order())
        .chain(conformance::late())
        .chain(conformance::skipping())
        .chain(scenarios::all())
        .chain(scenarios::concurrent())
        .map(|clause| (clause.topic, clause.name));
    let notification = conformance::notification().chain(scenarios::fan_out()).chain(scenarios::revival());
    let notification = notification.map(|clause| (clause.topic, clause.name));
    let step = conformance::step().chain(conformance::concurrent_step());
    let step = step.map(|clause| (clause.topic, clause.name));
    let timer = scenarios::timer().chain(scenarios::concurrent_timer());
    let timer = timer.map(|clause| (clause.topic, clause.name));
    let lock = conformance::lock().map(|clause| (clause.topic, clause.name));
    let server = conformance::opening().chain(conformance::packet()).chain(scenarios::server());
    let server = server.map(|clause| (clause.topic, clause.name));
    outbox.chain(notification).chain(step).chain(lock).chain(server).chain(timer)
}

fn unlisted(file: &File, listed: &BTreeSet<(&str, &str)>) -> Vec<String> {
    let folder = file.folder().rsplit('/').next().unwrap_or_default();
    let stem = file.path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs")).unwrap_or_default();
    let topic = if folder == "scenarios" { "scenarios" } else { stem };
    let written = file.code().filter_map(|(_, line)| line.strip_prefix("pub async fn ")?.split('(').next());
    let missing = written.filter(|name| !listed.contains(&(topic, *name)));
    missing.map(|name| format!("{}: {name} is not listed", file.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_clause_that_is_not_listed() {
        let file = File::new(
            "tests/src/conformance/claim.rs",
            "pub async fn one(s: Stage) {}\npub async fn two(s: Stage) {}\n",
        );
        assert_eq!(
            unlisted(&file, &[("claim", "one")].into()),
            ["tests/src/conformance/claim.rs: two is not listed"]
        );
        assert_eq!(unlisted(&file, &[("settle", "one"), ("claim", "two")].into()).len(), 1);
    }
}
