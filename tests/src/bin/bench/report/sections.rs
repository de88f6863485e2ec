use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use serde_json::Value;

use super::{book::Book, plots::Plot, targets::targets};
use crate::{
    machine::Machine,
    record::Record,
    statistics::ratio,
    table::{main_figure, short, whole},
};

const HEAD: &str = "# Benchmarks

This file and its plots are written by `bench report` from the lines that measurements left, never by hand.

    cargo run --release -p claimstream-tests --bin bench -- --server mariadb-10.11,mysql-9.7 \\
        --scenarios drain,backlog,steady,snapshot,near_empty,idle,single,network,enqueue,memory \\
        --peers peers/target/release/peer --json benchmarks/lines.jsonl
    cargo run --release -p claimstream-tests --bin bench -- report --json benchmarks/lines.jsonl

Figures are medians of the rounds, with the least and the most. Rounds are interleaved: in each, every contender plays
once. Ratios are between medians of one run. Server, instances and producers share the machine; every instance and every
producer is a process. A rate counts messages from the word to go until the last accepted acknowledgement.
";

const CONTENDERS: &str = "
| contender | what it is |
|---|---|
| `ceil` | bound: updates by primary key, ids known beforehand, no index besides the key, bodies not read |
| `ceilxr` | the same with the claim index kept up and bodies read: what a single table can do at best |
| `handwritten` | a loop of SQL on the library's design of tables, one connection, no leases renewed, nothing retried |
| `s0` | claim with `FOR UPDATE SKIP LOCKED` as a source text has it, acknowledged by the batch; stopped after 6 s |
| `s1` | preemptive update with a subquery as a source text has it, acknowledged by the batch; stopped after 6 s |
| `preemptive_update`, `skip_locked`, `shard_lease` | the library: stream, handlers beside each other, fenced settlements |
| `shard_lease_per_key` | the same with messages of each of 1,000 keys in order |
";

/// The whole text.
pub(super) fn text(book: &Book, plots: &[Plot], folder: &str) -> String {
    let mut text = HEAD.to_owned();
    text += "\n## Machine, servers, runs\n\n";
    text += &runs(book);
    text += "\n## Targets\n\n";
    text += &targets_table(book);
    text += "\n## Contenders\n";
    text += CONTENDERS;
    text += &peers(book);
    for scenario in book.scenarios() {
        let _ = write!(text, "\n## {}\n\n{}\n", title(scenario), about(scenario));
        for plot in plots.iter().filter(|plot| plot.scenario == scenario) {
            let _ = write!(text, "\n![{}]({folder}/{})\n", plot.title, plot.file);
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

fn targets_table(book: &Book) -> String {
    let servers = book.servers();
    let columns: Vec<_> = servers.iter().map(|server| targets(book, server)).collect();
    let mut text = format!("| target | {} |\n|---|{}\n", servers.join(" | "), "---|".repeat(servers.len()));
    for row in 0..columns.first().map_or(0, Vec::len) {
        let verdicts: Vec<_> = columns.iter().map(|column| column[row].verdict()).collect();
        let _ = writeln!(text, "| {} | {} |", columns[0][row].what, verdicts.join(" | "));
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

fn title(scenario: &str) -> String {
    let title = match scenario {
        "drain" => "Draining a backlog",
        "backlog" => "Size of the backlog",
        "steady" => "Steady state",
        "highest_rate" => "Highest rate that is held",
        "snapshot" => "A snapshot open elsewhere",
        "near_empty" => "A queue that is nearly empty",
        "idle" => "Idle instances",
        "wakeup" => "A message enqueued in the process of an idle instance",
        "single" => "One message at a time",
        "network" => "Network between instances and server",
        "enqueue" => "Enqueueing alone",
        "memory" => "Memory",
        "kill" => "Owners of shards killed",
        "rebalance" => "Shards that change hands",
        other => other,
    };
    title.to_owned()
}

fn about(scenario: &str) -> &'static str {
    match scenario {
        "drain" => "Everybody empties the same backlog. Ratios are against `ceilxr` with as many instances.",
        "backlog" => {
            "One instance. Of a million and more only the first seconds are measured; the largest backlog stands, and \
             what a round took is enqueued again before the next."
        }
        "steady" => {
            "Producers, two processes with up to eight transactions open each, send at a rate; latency counts from before \
             the transaction began until the handler was called. Statements and redo are those of producers and consumers."
        }
        "highest_rate" => {
            "The rate is doubled until the backlog grows by 100 messages a second or more, or the producers do not keep \
             up, and then closed in on; each rate is tried for ten seconds. Producers and server share the machine."
        }
        "snapshot" => {
            "A transaction elsewhere has a consistent snapshot of the database open all the time, or not."
        }
        "near_empty" => {
            "Two producers, 2,000 messages a second together, five a transaction. Consumers: none, idle on another \
             queue, or busy on this one, where they take each message at once and the processor from the producers."
        }
        "idle" => "Statements from the tenth to the thirtieth second of having nothing to do.",
        "wakeup" => {
            "After ten idle seconds messages are enqueued one by one in the instance's own process, which rings its \
             wakeup after each commit; latency counts from before the transaction began until the handler was called."
        }
        "single" => {
            "A claim asks for one message, and its acknowledgement is written before the next one comes."
        }
        "network" => "A proxy holds up every packet, by half the delay in each direction.",
        "enqueue" => {
            "Producers in one process, each a transaction after another. `library` writes queue and body; the others are \
             multi-row inserts by hand."
        }
        "memory" => {
            "A pipeline has all messages in hand for longer than a third of the lease, so that all are renewed, and then \
             acknowledges them."
        }
        "kill" => {
            "Measured by the binary `ownership`: owners of shards are killed one after another under load; how many messages went wrong, and \
             in which way, is counted for each."
        }
        "rebalance" => {
            "Measured by the binary `ownership`: an instance comes, one goes, one dies in each round; milliseconds until \
             others serve its shards."
        }
        _ => "",
    }
}

/// The figures that are shown of a scenario, with their headings.
fn figures(scenario: &str) -> &'static [(&'static str, &'static str)] {
    const CPU: (&str, &str) = ("client_cpu_ms_per_1000", "client CPU ms / 1,000");
    const SERVER_CPU: (&str, &str) = ("server_cpu_ms_per_1000", "server CPU ms / 1,000");
    const STATEMENTS: (&str, &str) = ("statements_per_message", "statements / message");
    const REDO: (&str, &str) = ("redo_bytes_per_message", "redo bytes / message");
    const P50: (&str, &str) = ("latency_p50_ms", "latency p50 ms");
    const P99: (&str, &str) = ("latency_p99_ms", "p99 ms");
    const INSERT_P50: (&str, &str) = ("insert_p50_ms", "insert p50 ms");
    const INSERT_P99: (&str, &str) = ("insert_p99_ms", "insert p99 ms");
    match scenario {
        "drain" | "backlog" | "snapshot" | "single" | "network" => {
            &[("rate", "messages / s"), CPU, SERVER_CPU, STATEMENTS, REDO]
        }
        "steady" => &[
            ("enqueued_per_second", "enqueued / s"),
            ("growth_per_second", "backlog growth / s"),
            P50,
            P99,
            INSERT_P99,
            ("history_most", "longest history"),
            CPU,
            SERVER_CPU,
            STATEMENTS,
            REDO,
        ],
        "highest_rate" => &[("highest_rate", "messages / s"), P50, P99, ("history_most", "longest history")],
        "near_empty" => &[("enqueued_per_second", "enqueued / s"), INSERT_P50, INSERT_P99, P50, P99],
        "idle" => &[("statements_per_second_and_instance", "statements / s and instance")],
        "wakeup" => &[P50, P99, ("latency_max_ms", "longest ms")],
        "enqueue" => &[
            ("rate", "messages / s"),
            INSERT_P50,
            INSERT_P99,
            ("producer_cpu_ms_per_1000", "producer CPU ms / 1,000"),
            SERVER_CPU,
            REDO,
        ],
        "memory" => &[
            ("resident_held_mib", "resident MiB"),
            ("resident_before_mib", "before MiB"),
            ("bytes_per_message", "bytes / message"),
        ],
        _ => &[],
    }
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
    let told = |cell: &&Record| {
        let varying =
            varying.iter().filter_map(|name| Some(((*name).to_owned(), cell.parameters.get(*name)?.clone())));
        format!("`{}`, {}", cell.contender, crate::cell::conditions(cell.instances, &varying.collect()))
    };
    let headings: Vec<_> = cells.iter().map(told).collect();
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

/// Parameters that all cells share, as text, and the names of those that tell them apart.
fn parameters<'a>(cells: &[&'a Record]) -> (Vec<String>, Vec<&'a str>) {
    let names: BTreeSet<&str> =
        cells.iter().flat_map(|cell| cell.parameters.keys()).map(String::as_str).collect();
    let values = |name: &str| cells.iter().map(|cell| cell.parameters.get(name)).collect::<Vec<_>>();
    let is_same = |name: &&str| values(name).windows(2).all(|pair| pair[0] == pair[1]);
    let (same, varying): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_same);
    let told = same.into_iter().filter_map(|name| {
        Some(format!("{} {}", name.replace('_', " "), said(cells.first()?.parameters.get(name)?)))
    });
    (told.collect(), varying)
}

fn said(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), whole),
        other => other.to_string(),
    }
}
