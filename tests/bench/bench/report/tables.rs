use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use serde_json::Value;

use super::{
    book::Book,
    plots::Plot,
    scenarios::{about, figures, title},
};
use crate::{
    machine::Machine,
    record::Record,
    statistics::ratio,
    table::{main_figure, short, whole},
};

const HEAD: &str = "# All tables

`bench report` writes this file and [BENCHMARKS.md](../BENCHMARKS.md) from the lines that measurements left, never by hand.

    cargo run --release -p claimstream-bench --bin bench -- --server mariadb-10.11,mysql-9.7 \\
        --scenarios SCENARIOS \\
        --peers peers/target/release/peer --json benchmarks/lines.jsonl
    cargo run --release -p claimstream-bench --bin bench -- report --json benchmarks/lines.jsonl

Figures are medians of the rounds, with the least and the most. Rounds are interleaved: in each, every contender runs
once. Ratios are between medians of one run. Server, instances and producers share the machine; every instance and every
producer is a process. A rate counts messages from the word to go until the last accepted acknowledgement, and so does the server's
processor time where a backlog is drained; in runs before 2026-11-23 it counted until the last instance had found nothing more to do.
";

const CONTENDERS: &str = "
| contender | what it is |
|---|---|
| `ceil` | bound: updates by primary key, ids known beforehand, no index besides the key, bodies not read |
| `ceilxr` | the same with the claim index kept up and bodies read: what a single table can do at best |
| `handwritten` | a loop of SQL on the library's design of tables, one connection, no leases renewed, nothing retried |
| `s0` | claim with `FOR UPDATE SKIP LOCKED` as a source text has it, acknowledged by the batch; stopped after 6 s |
| `s1` | preemptive update with a subquery as a source text has it, acknowledged by the batch; stopped after 6 s |
| `preemptive_update`, `skip_locked`, `shard_lease` | the library: stream, concurrent handlers, fenced settlements; eight batches in hand, four in runs before 2026-11-22T03:00Z, two in those before 2026-11-21T23:47Z |
| `shard_lease_per_key` | the same with messages of each of 1,000 keys in order |
| `shard_lease_batches` | the same, handled and acknowledged by the batch |
";

/// The whole text; it lies next to the plots.
pub(super) fn text(book: &Book, plots: &[Plot]) -> String {
    let mut text = HEAD.replace("SCENARIOS", &crate::scenario::ALL.join(","));
    text += "\n## Machine, servers, runs\n\n";
    text += &runs(book);
    text += "\n## Contenders\n";
    text += CONTENDERS;
    text += &peers(book);
    for scenario in book.scenarios() {
        let _ = write!(text, "\n## {}\n\n{}\n", title(scenario), about(scenario));
        for plot in plots.iter().filter(|plot| plot.scenario == scenario) {
            let _ = write!(text, "\n![{}]({})\n", plot.title, plot.file);
        }
        for server in book.servers() {
            let cells = book.cells(server, scenario);
            if !cells.is_empty() {
                text += &cells_table(server, scenario, &cells);
            }
        }
    }
    text
}

fn runs(book: &Book) -> String {
    let runs: Vec<_> = book.runs().into_iter().filter(|run| run.machine.cores > 0).collect();
    let mut text = String::new();
    let machine = |run: &&Record| {
        let machine = &run.machine;
        let Machine { cores, memory_gib, processor, system } = machine;
        format!("* {cores} cores ({processor}), {memory_gib} GiB, {system}\n")
    };
    let server = |run: &&Record| {
        let settings = run.server.settings.iter().map(|(name, value)| format!("`{name}` {value}"));
        let settings = settings.collect::<Vec<_>>().join(", ");
        format!("* {}: {}; {settings}\n", run.server.name, run.server.version)
    };
    let distinct =
        runs.iter().map(machine).chain(runs.iter().map(server)).fold(Vec::new(), |mut all, line| {
            if !all.contains(&line) {
                all.push(line);
            }
            all
        });
    text.extend(distinct);
    text += "\n| run | server | commit | version |\n|---|---|---|---|\n";
    for run in runs {
        let commit = run.commit.as_deref().unwrap_or("unknown");
        let _ = writeln!(text, "| {} | {} | {commit} | {} |", run.date, run.server.name, run.version);
    }
    text
}

/// Other libraries; what is not like for like stands in their notes.
fn peers(book: &Book) -> String {
    let servers = book.servers();
    let all = servers.iter().flat_map(|server| book.all(server, |one| one.peer.is_some()));
    let notes: BTreeMap<_, _> =
        all.filter_map(|one| Some((one.contender.as_str(), one.peer.as_ref()?))).collect();
    if notes.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nOther libraries; their notes say where they are not like for like:\n\n");
    for (name, peer) in notes {
        let _ = writeln!(text, "* `{name}`: {}; {}", peer.version, peer.note);
    }
    text
}

fn cells_table(server: &str, scenario: &str, cells: &[&Record]) -> String {
    let mut text = format!("\n### {server}\n\n");
    let (same, varying) = parameters(cells);
    if !same.is_empty() {
        let _ = writeln!(text, "{}.\n", same.join(", "));
    }
    let shown = figures(scenario);
    if shown.is_empty() {
        return text + &every_figure(cells, &varying);
    }
    let with_ratio = scenario != "highest_rate" && cells.iter().any(|cell| cell.contender == "ceilxr");
    let mut headings = vec!["contender".to_owned(), "instances".into()];
    headings.extend(varying.iter().map(|name| name.replace('_', " ")));
    headings.extend(shown.iter().enumerate().map(|(n, (_, heading))| match n {
        0 => format!("{heading} (least - most)"),
        _ => (*heading).to_owned(),
    }));
    headings.extend(with_ratio.then(|| "ratio".to_owned()));
    headings
        .extend(["deadlocks", "duplicates", "superseded", "lost", "not drained", "rounds"].map(String::from));
    let _ = writeln!(text, "| {} |\n|{}", headings.join(" | "), "---|".repeat(headings.len()));
    for cell in cells {
        let mut columns = vec![format!("`{}`", cell.contender), cell.instances.to_string()];
        columns.extend(varying.iter().map(|name| cell.parameters.get(*name).map_or_else(String::new, said)));
        columns.extend(shown.iter().enumerate().map(|(n, (figure, _))| value(cell, figure, n == 0)));
        columns.extend(with_ratio.then(|| against_reference(cell, cells, main_figure(scenario))));
        let counts = cell.counts();
        let counted =
            [counts.deadlocks, counts.duplicates, counts.superseded, counts.lost, counts.not_drained];
        columns.extend(counted.map(whole));
        columns.push(cell.rounds.len().to_string());
        let _ = writeln!(text, "| {} |", columns.join(" | "));
    }
    for cell in cells {
        for failure in BTreeSet::from_iter(&cell.failures) {
            let conditions = crate::cell::conditions(cell.instances, &cell.parameters);
            let _ = writeln!(text, "\n`{}`, {conditions}: a round failed: {failure}", cell.contender);
        }
    }
    text
}

/// A line for each figure, where there are many and few cells.
fn every_figure(cells: &[&Record], varying: &[&str]) -> String {
    let heading = |cell: &&Record| {
        let varying =
            varying.iter().filter_map(|name| Some(((*name).to_owned(), cell.parameters.get(*name)?.clone())));
        format!("`{}`, {}", cell.contender, crate::cell::conditions(cell.instances, &varying.collect()))
    };
    let headings: Vec<_> = cells.iter().map(heading).collect();
    let mut text = format!("| figure | {} |\n|---|{}\n", headings.join(" | "), "---|".repeat(cells.len()));
    let names: BTreeSet<_> =
        cells.iter().flat_map(|cell| &cell.rounds).flat_map(|round| round.figures.keys()).collect();
    for name in names {
        let values = cells.iter().map(|cell| value(cell, name, cell.rounds.len() > 1));
        let _ = writeln!(text, "| {} | {} |", name.replace('_', " "), values.collect::<Vec<_>>().join(" | "));
    }
    text
}

fn value(cell: &Record, figure: &str, with_range: bool) -> String {
    let Some(median) = cell.median(figure) else { return "-".into() };
    match cell.range(figure) {
        Some((least, most)) if with_range => {
            format!("{} ({} - {})", short(median), short(least), short(most))
        }
        _ => short(median),
    }
}

/// Against the bound of the same run under the same conditions.
fn against_reference(cell: &Record, cells: &[&Record], figure: &str) -> String {
    let is_same = |other: &&&Record| {
        other.contender == "ceilxr"
            && other.run == cell.run
            && other.instances == cell.instances
            && other.parameters == cell.parameters
    };
    let reference = cells.iter().find(is_same).and_then(|other| other.median(figure));
    let ratio = cell.median(figure).zip(reference).and_then(|(one, other)| ratio(one, other));
    ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}"))
}

/// Parameters that all cells share, as text, and the names of those that differ.
fn parameters<'a>(cells: &[&'a Record]) -> (Vec<String>, Vec<&'a str>) {
    let names: BTreeSet<&str> =
        cells.iter().flat_map(|cell| cell.parameters.keys()).map(String::as_str).collect();
    let values = |name: &str| cells.iter().map(|cell| cell.parameters.get(name)).collect::<Vec<_>>();
    let is_same = |name: &&str| values(name).windows(2).all(|pair| pair[0] == pair[1]);
    let (same, varying): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_same);
    let shared = same.into_iter().filter_map(|name| {
        Some(format!("{} {}", name.replace('_', " "), said(cells.first()?.parameters.get(name)?)))
    });
    (shared.collect(), varying)
}

fn said(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), whole),
        other => other.to_string(),
    }
}
