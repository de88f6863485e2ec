use std::fmt::Write;

use super::{
    book::Book,
    plots::Plot,
    targets::{self, STRATEGIES},
};
use crate::{
    record::Record,
    scenario::sqlite,
    table::{short, whole},
};

const HEAD: &str = "# Benchmarks

What to choose, what to expect, and whether the targets are met. `bench report` writes this page, its plots and
[all tables](TABLES), with the commands, the machine and the servers, from the lines that measurements left; nothing is
typed by hand.

Client and server share the machine; messages have 500 bytes, claims ask for 100, and handlers do nothing. So compare
figures with each other, and measure on your own machine what you will depend on.
";

/// When to choose a contender; others stand in the table to compare with.
const ADVICE: [(&str, &str); 7] = [
    ("shard_lease", "you need throughput or order by key; for all relays of a database or none"),
    ("shard_lease_batches", "the same, where your handler does better with many messages at once"),
    ("preemptive_update", "there are few relays and commits are fast, or the server has no `SKIP LOCKED`"),
    ("skip_locked", "there are many relays, or commits are slow"),
    ("shard_lease_per_key", "messages of a key must be handled one after another; 1,000 keys"),
    (
        "handwritten",
        "to compare: a loop of SQL on the same tables, without leases that are renewed or retries",
    ),
    ("ceilxr", "to compare: an upper bound that neither searches nor fences"),
];

/// A page that a reader understands in two minutes; the tables have the rest.
pub(super) fn text(book: &Book, plots: &[Plot], folder: &str, tables: &str) -> String {
    let mut text = HEAD.replace("TABLES", tables);
    text += "\n## What to choose\n";
    for server in book.servers().into_iter().filter(|server| has_drain(book, server)) {
        let _ = write!(text, "\n### {server}\n\n{}", choice(book, server));
    }
    text += &on_a_file(book);
    text += "\n## What to expect\n\nUnder `shard_lease`, unless something else is said.\n\n";
    text += &expectations(book);
    text += "\n## Plots\n";
    for plot in plots.iter().filter(|plot| plot.on_page) {
        let _ = write!(text, "\n![{}]({folder}/{})\n", plot.title, plot.file);
    }
    text += "\n## Targets\n\nRatios are between medians of one run, unless a commit is named.\n\n";
    text + &targets_table(book)
}

/// Whether it is a server, and the figures that all choices rest on are there.
fn has_drain(book: &Book, server: &str) -> bool {
    server != sqlite::NAME && !book.cells(server, "drain").is_empty()
}

/// SQLite, which has one writer at a time and is measured by itself.
fn on_a_file(book: &Book) -> String {
    let drained = book.cells(sqlite::NAME, "drain");
    if drained.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n### sqlite\n\n\
         | contender | drained / s, 1 instance | held in steady state / s | steady 1,000 / s: p50, p99 ms | enqueued / s, with 1, 10 and 100 messages a transaction |\n\
         |---|---|---|---|---|\n",
    );
    for name in ["preemptive_update", "shard_lease", "handwritten"] {
        let figure = |scenario: &'static str, figure: &str, size: Option<f64>| {
            let is = |one: &Record| {
                let same = size.is_none() || one.number("per_transaction") == size;
                one.scenario == scenario && one.contender == name && same
            };
            book.figure(sqlite::NAME, figure, is)
        };
        let rate = several([figure("drain", "rate", None)], "");
        let held = several([figure("highest_rate", "highest_rate", None)], "");
        let latency = ["latency_p50_ms", "latency_p99_ms"].map(|name| figure("steady", name, None));
        let enqueued = [1.0, 10.0, 100.0].map(|size| figure("enqueue", "rate", Some(size)));
        let (latency, enqueued) = (several(latency, ", "), several(enqueued, " · "));
        let _ = writeln!(text, "| `{name}` | {rate} | {held} | {latency} | {enqueued} |");
    }
    text
}

fn choice(book: &Book, server: &str) -> String {
    let mut text = String::from(
        "| contender | drained / s, with 1, 4 and 16 instances | CPU ms / 1,000, client + server | steady 5,000 / s: p50, p99 ms | choose it when |\n\
         |---|---|---|---|---|\n",
    );
    let fastest = fastest_peer(book, server);
    let peer = fastest.as_ref().map(|name| (name.as_str(), "to compare: the fastest other library"));
    for (name, advice) in ADVICE.into_iter().chain(peer) {
        let drained = |instances| book.figure(server, "rate", targets::drained(name, instances));
        let rates = several([1, 4, 16].map(drained), " · ");
        let cpu = |figure| book.figure(server, figure, targets::drained(name, 4));
        let cpu = several(["client_cpu_ms_per_1000", "server_cpu_ms_per_1000"].map(cpu), " + ");
        let steady = |figure| book.figure(server, figure, targets::steady(name));
        let latency = several(["latency_p50_ms", "latency_p99_ms"].map(steady), ", ");
        if rates == "-" && latency == "-" {
            continue;
        }
        let _ = writeln!(text, "| `{name}` | {rates} | {cpu} | {latency} | {advice} |");
    }
    text
}

fn fastest_peer(book: &Book, server: &str) -> Option<String> {
    let cells = book.cells(server, "drain").into_iter();
    let peers = cells.filter(|one| one.peer.is_some() && one.instances == 4);
    let rated = peers.filter_map(|one| Some((one.median("rate")?, one.contender.clone())));
    rated.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, name)| name)
}

/// Figures in a row; a dash for one that was not measured, and for all of them.
fn several<const N: usize>(figures: [Option<f64>; N], between: &str) -> String {
    if figures.iter().all(Option::is_none) {
        return "-".into();
    }
    figures.map(|figure| figure.map_or_else(|| "-".into(), short)).join(between)
}

fn expectations(book: &Book) -> String {
    let servers: Vec<_> = book.servers().into_iter().filter(|server| has_drain(book, server)).collect();
    let mut text = format!("| what | {} |\n|---|{}\n", servers.join(" | "), "---|".repeat(servers.len()));
    let mut row = |what: &str, value: &dyn Fn(&str) -> String| {
        let values: Vec<_> = servers.iter().map(|server| value(server)).collect();
        if values.iter().any(|value| value != "-") {
            let _ = writeln!(text, "| {what} | {} |", values.join(" | "));
        }
    };
    let notified = |figure: &'static str, is_large| {
        move |server: &str| {
            let of = targets::notifications("shard_lease", 3, is_large);
            several([book.figure(server, figure, of)], "")
        }
    };
    row("notifications / s, 3 relays, requests of one recipient", &notified("rate", false));
    row("statements for each of them", &notified("statements_per_message", false));
    row("notifications / s, 3 relays, one request to many", &notified("rate", true));
    row("messages / s held in steady state, 4 instances, 10 a transaction", &|server| {
        let highest = |one: &Record| one.scenario == "highest_rate" && one.contender == "shard_lease";
        several([book.figure(server, "highest_rate", highest)], "")
    });
    row("messages / s in order, 4 instances, with 10,000 keys, 200 keys and one", &|server| {
        several([10_000, 200, 1].map(|keys| book.figure(server, "rate", targets::ordered(4, keys))), " · ")
    });
    row("enqueued / s, 8 producers, with 1, 10 and 100 messages a transaction", &|server| {
        let enqueued = |size| book.figure(server, "rate", targets::enqueued("library", 8, size));
        several([1, 10, 100].map(enqueued), " · ")
    });
    row("statements / s of an idle instance", &|server| {
        let idle = |one: &Record| one.scenario == "idle" && one.contender == "shard_lease";
        several([book.figure(server, "statements_per_second_and_instance", idle)], "")
    });
    row("bytes of memory for each message in hand", &|server| {
        let held = |one: &Record| one.scenario == "memory" && one.contender == "shard_lease";
        several([book.figure(server, "bytes_per_message", held)], "")
    });
    row("messages lost or acknowledged twice, of all that were measured", &|server| {
        let ours = book.all(server, |one| STRATEGIES.iter().any(|own| one.contender.starts_with(own)));
        let counts = ours.iter().map(|one| one.counts());
        let (wrong, all) =
            counts.fold((0, 0), |(wrong, all), one| (wrong + one.lost + one.doubled, all + one.acknowledged));
        format!("{wrong} of {}", whole(all))
    });
    text
}

fn targets_table(book: &Book) -> String {
    let servers: Vec<_> = book.servers().into_iter().filter(|server| has_drain(book, server)).collect();
    let columns: Vec<_> = servers.iter().map(|server| targets::targets(book, server)).collect();
    let mut text = format!("| target | {} |\n|---|{}\n", servers.join(" | "), "---|".repeat(servers.len()));
    for row in 0..columns.first().map_or(0, Vec::len) {
        let verdicts: Vec<_> = columns.iter().map(|column| column[row].verdict()).collect();
        let _ = writeln!(text, "| {} | {} |", columns[0][row].what, verdicts.join(" | "));
    }
    text
}
