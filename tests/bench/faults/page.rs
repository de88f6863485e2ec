use std::{collections::BTreeMap, fmt::Write};

use crate::{brokers, fault::Fault, line::Line};

/// The page with what came of all runs: a row for each server, fault and strategy, and their sum, and the same for brokers.
pub(crate) fn write(lines: &[Line], of_brokers: &[brokers::Line]) -> String {
    let mut rows: BTreeMap<(&str, &str, &str), Line> = BTreeMap::new();
    for line in lines {
        let key = (line.server.as_str(), line.fault.as_str(), line.strategy.as_str());
        rows.entry(key).and_modify(|row| row.and(line)).or_insert_with(|| line.clone());
    }
    let mut page = HEAD.to_owned();
    let mut sum: Option<Line> = None;
    for row in rows.values() {
        page.push_str(&shown(row));
        match &mut sum {
            Some(sum) => sum.and(row),
            None => sum = Some(row.clone()),
        }
    }
    if let Some(sum) = sum {
        let _ = write!(
            page,
            "\n{} faults in all: of {} messages {} had their effect. {} were lost of which no replica had lacked the commit, {} were accepted \
             twice of which none was forgotten with a source, {} had their effect twice, and {} stayed without an end.\n",
            thousands(sum.faults),
            thousands(sum.messages as u64),
            thousands(sum.delivered as u64),
            sum.lost - sum.lost_with_the_source,
            sum.accepted_twice - sum.accepted_and_forgotten,
            sum.doubled,
            sum.stuck,
        );
    }
    page.push_str(FOOT);
    page.push_str(&brokers::section(of_brokers));
    page
}

const HEAD: &str = "# Crash matrix

What came of messages while real faults were played under load: relays at each node, or three of them behind one address where one node takes
writes, a producer, and an effect for each message through the [inbox](inbox.md). Leases last four seconds. This page is written by

```sh
cargo run --release -p claimstream-bench --bin faults -- report
```

from files under `benchmarks/`. For the first table that is `benchmarks/faults.jsonl`, to which `faults play` adds its runs; `faults play --help` says how to play more of them. Most were played with
the lowest priority on two cores that many others used, so their times are those of a machine that is far too busy.

| server | fault | strategy | faults | messages | delivered | lost | doubled | handled again | accepted twice | longest gap | recovery |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

const FOOT: &str = "
* **lost**: enqueueing was acknowledged, and there is no effect. With a replica that takes over without the last commits these are messages that
  were enqueued while it received nothing; only their senders know of them.
* **doubled**: a second effect through the inbox. There must be none.
* **handled again**: the handler ran once more, as at-least-once delivery allows, and the inbox found the effect there.
* **accepted twice**: the end of a message was accepted two times. With a replica that takes over without the last commits the first end was lost
  with them.
* **longest gap**: the longest time in which no relay handled a message. **recovery**: the longest time from a fault until every message had its
  effect within a second again.

[Failovers](errors.md#after-a-failover) says what to expect of each kind of server. The suite plays a short course of these faults on a Galera
cluster and on a replica pair in each run.
";

fn shown(row: &Line) -> String {
    let Line {
        server, strategy, faults, messages, delivered, lost, doubled, repeats, accepted_twice, ..
    } = row;
    let fault = Fault::described(&row.fault);
    let (gap, recovery) = (seconds(row.longest_gap_ms), seconds(row.recovery_ms));
    format!(
        "| {server} | {fault} | {strategy} | {} | {} | {} | {lost} | {doubled} | {repeats} | {accepted_twice} | {gap} | {recovery} |\n",
        thousands(*faults),
        thousands(*messages as u64),
        thousands(*delivered as u64),
    )
}

/// Milliseconds as seconds.
pub(crate) fn seconds(millis: u64) -> String {
    format!("{:.1} s", millis as f64 / 1000.0)
}

/// A number with commas.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use claimstream_testbed::work::Figures;

    use super::*;
    use crate::{kills, line};

    fn file(path: &str) -> String {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[test]
    fn the_crash_matrix_is_what_its_lines_give() {
        let lines = line::read(&file("benchmarks/faults.jsonl")).expect("lines");
        assert!(lines.iter().all(|line| line.wrongs() == 0), "a run went wrong");
        let of_brokers = brokers::read(&file("benchmarks/faults-brokers.jsonl")).expect("lines");
        assert!(of_brokers.iter().all(|line| line.wrongs() == 0), "a run with a broker went wrong");
        let killed = kills::read(&file("benchmarks/kills.jsonl")).expect("lines");
        let page = write(&lines, &of_brokers) + &kills::section(&killed);
        assert_eq!(file("docs/inside/crash-matrix.md"), page, "write it again: faults report");
    }

    #[test]
    fn runs_of_the_same_are_one_row() {
        let run = |lost| {
            let figures = Figures { messages: 1000, delivered: 1000 - lost, lost, ..Figures::default() };
            Line::of("galera-10.11", "skip_locked", "kill", 2, &figures)
        };
        let page = write(&[run(0), run(1)], &[]);
        assert!(page.contains("| galera-10.11 | a node is killed (kill -9) and started again | skip_locked | 4 | 2,000 | 1,999 | 1 |"), "{page}");
        assert_eq!(run(1).wrongs(), 1);
    }
}
