use std::collections::BTreeSet;

use serde_json::Value;

/// The file that users load.
pub(super) const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/alerts.yml");
/// What promtool tries the shipped rules with, their times included.
pub(super) const UNIT_TESTS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/prometheus/alerts.test.yml");

const RULES: &str = include_str!("../../../../../docs/alerts.yml");
const DASHBOARD: &str = include_str!("../../../../../docs/grafana.json");

/// The names of all alerts.
pub(super) fn alerts() -> BTreeSet<String> {
    let names = RULES.lines().filter_map(|line| line.trim_start().strip_prefix("- alert: "));
    let names: BTreeSet<_> = names.map(str::to_owned).collect();
    assert!(names.len() >= 10, "{names:?}");
    names
}

/// The shipped rules with nothing changed but how long they wait.
pub(super) fn at_once() -> String {
    let shortened = |line: &str| match line.trim_start().starts_with("for: ") {
        true => line.replace(line.trim_start(), "for: 0s"),
        false => line.to_owned(),
    };
    RULES.lines().map(|line| shortened(line) + "\n").collect()
}

/// A query of the dashboard, and the labels that its legend shows.
pub(super) struct Query {
    pub(super) expression: String,
    pub(super) labels: Vec<String>,
}

/// Every query of the dashboard, with the interval that Grafana would put in.
pub(super) fn dashboard() -> Vec<Query> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries: Vec<_> = targets.map(query).collect();
    assert!(queries.len() >= 15, "only {} queries", queries.len());
    queries
}

fn query(target: &Value) -> Query {
    let expression = target["expr"].as_str().unwrap().replace("$__rate_interval", "1m");
    let legend = target["legendFormat"].as_str().unwrap_or_default();
    let labels = legend.split("{{").skip(1).map(|part| part.split("}}").next().unwrap().to_owned());
    Query { expression, labels: labels.collect() }
}
