//! Several databases in one configuration: what goes over all of them, what needs one, and what happens while they come and go.

#[cfg(unix)]
mod coming_and_going;
mod commands;
#[cfg(unix)]
mod freezing_proxy;
#[cfg(unix)]
mod servers;

use crate::operator::{Operator, request};

/// An operator of these databases, each an SQLite file of its name, with their tables.
pub(crate) fn with_databases(names: &[&str]) -> Operator {
    let operator = Operator::new();
    let sections: String =
        names.iter().map(|name| section(name, &format!("sqlite://{name}.db"), "")).collect();
    configure(&operator, &sections);
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    operator
}

/// The section of a database with settings of its own.
fn section(name: &str, url: &str, more: &str) -> String {
    format!("[databases.{name}]\nurl = '{url}'\n{more}\n")
}

/// Writes the configuration: these sections, and channels that write to the file `out.jsonl`.
fn configure(operator: &Operator, sections: &str) {
    let usual = "[relay]\nidle_max = '200ms'\n[channels.default]\nprovider = 'log'\nfile = 'out.jsonl'\nshow_addresses = true\n";
    operator.write("claimstream.toml", format!("{sections}{usual}"));
}

/// Hands requests with these numbers in to one database.
fn hand_in(operator: &Operator, database: &str, numbers: std::ops::Range<u32>) {
    let lines: String = numbers.map(|number| request(number, "\"email\"") + "\n").collect();
    operator.run_with(&["notify", "-", "--database", database], lines.as_bytes()).succeeded();
}

/// The numbers of the requests that were delivered, in the order of their deliveries.
fn delivered(operator: &Operator) -> Vec<u32> {
    let number = |line: &String| {
        let (before, _) = line.split_once("@example.com")?;
        before.rsplit_once('a').and_then(|(_, number)| number.parse().ok())
    };
    operator.lines("out.jsonl").iter().filter_map(number).collect()
}

/// How many of these were delivered, each counted once.
fn distinct(numbers: &[u32], of: std::ops::Range<u32>) -> usize {
    let mut found: Vec<u32> = numbers.iter().copied().filter(|number| of.contains(number)).collect();
    found.sort_unstable();
    found.dedup();
    found.len()
}
