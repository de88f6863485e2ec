use std::{collections::BTreeMap, fmt::Write};

use super::{fault::Fault, line::Line};
use crate::page::{seconds, thousands};

/// What the page says of brokers: a row for each broker, fault and strategy, and their sum.
pub(crate) fn section(lines: &[Line]) -> String {
    let mut rows: BTreeMap<(&str, &str, &str), Line> = BTreeMap::new();
    for line in lines {
        let key = (line.broker.as_str(), line.fault.as_str(), line.strategy.as_str());
        rows.entry(key).and_modify(|row| row.and(line)).or_insert_with(|| line.clone());
    }
    let mut section = HEAD.to_owned();
    let mut sum: Option<Line> = None;
    for row in rows.values() {
        section.push_str(&shown(row));
        match &mut sum {
            Some(sum) => sum.and(row),
            None => sum = Some(row.clone()),
        }
    }
    if let Some(sum) = sum {
        let kills: u64 = rows.values().filter(|row| Fault::kills(&row.fault)).map(|row| row.faults).sum();
        let _ = write!(
            section,
            "\n{} kills and {} faults of a mock cluster in all: of {} messages {} had their effect, {} were lost, {} had their effect twice, {} had one though their transaction \
             was rolled back, {} came out of the order of their key, and {} stayed without an end.\n",
            thousands(kills),
            thousands(sum.faults - kills),
            thousands(sum.messages as u64),
            thousands(sum.delivered as u64),
            sum.lost,
            sum.doubled,
            sum.never_committed,
            sum.out_of_order.unwrap_or(0),
            sum.stuck,
        );
    }
    section.push_str(FOOT);
    section
}

const HEAD: &str = "
## Brokers

Messages went from the outbox of one database over a broker to the [inbox](inbox.md) of another database, while the broker, one of two relays
that [publish](publishing.md), both, or the consumer were killed under load. Leases last two seconds, and every tenth transaction of the producer is rolled
back. The next kill comes when as much has had its effect as had been enqueued. The rows come from `benchmarks/faults-brokers.jsonl`, to
which this command adds its runs; these were played by a build without optimization on two cores that many others used:

```sh
cargo run --release -p claimstream-bench --bin faults -- brokers --help
```

The rows of Kafka need `--features claimstream-bench/kafka`. They were played on the mock cluster of librdkafka: three brokers that speak the protocol and keep records in
memory alone. Such a broker cannot be killed and come back with its records, so here **no broker of Kafka was killed**: brokers went away and came back, leaders moved, connections broke and requests
failed, and these are counted as faults and not as kills. Relays and consumers of these rows are processes, and were killed as all others. Nothing here shows what a real
cluster keeps when its machines fail. The mock stores a record twice whose answer was lost, where a real broker knows it again. A session lasts 3 s, which is how long a consumer that was killed keeps its partitions, and
what it had done in its last second comes again.

| broker | fault | strategy | kills or faults | messages | delivered | lost | doubled | repeats known by the id | order of keys | longest gap | recovery |
|---|---|---|--:|--:|--:|--:|--:|--:|---|--:|--:|
";

const FOOT: &str = "
* **doubled**: a second effect through the inbox, which knows a message by its id. There must be none.
* **repeats known by the id**: a message came again, as at-least-once delivery allows, because a relay had sent it again or the broker had not
  kept its acknowledgement, and the inbox found its effect there.
* **order of keys**: whether the effects of each key happened in the order in which its messages were enqueued. Only `shard_lease` keeps one.
* **longest gap** and **recovery** are as above. A relay that was killed holds its shards until its lease ends.
";

fn shown(row: &Line) -> String {
    let Line { broker, strategy, messages, delivered, lost, doubled, repeats, .. } = row;
    let order = match row.out_of_order {
        Some(0) => "kept".to_owned(),
        Some(wrong) => format!("{wrong} wrong"),
        None => "none".to_owned(),
    };
    format!(
        "| {broker} | {} | {strategy} | {} | {} | {} | {lost} | {doubled} | {repeats} | {order} | {} | {} |\n",
        Fault::described(&row.fault),
        thousands(row.faults),
        thousands(*messages as u64),
        thousands(*delivered as u64),
        seconds(row.longest_gap_ms),
        seconds(row.recovery_ms),
    )
}

#[cfg(test)]
mod tests {
    use claimstream_testbed::work::Figures;

    use super::*;
    use crate::brokers::line::Played;

    #[test]
    fn runs_of_the_same_are_one_row() {
        let run = |out_of_order| {
            let played = Played { broker: "nats", strategy: "shard_lease", fault: "both", faults: 20 };
            let figures = Figures { messages: 1000, delivered: 1000, repeats: 3, ..Figures::default() };
            Line::of(&played, &figures, 0, Some(out_of_order))
        };
        let page = section(&[run(0), run(0)]);
        assert!(page.contains("| shard_lease | 40 | 2,000 | 2,000 | 0 | 0 | 6 | kept |"), "{page}");
        assert!(section(&[run(0), run(2)]).contains("| 2 wrong |"));
        assert_eq!((run(0).wrongs(), run(2).wrongs()), (0, 2));
        let mut mocked = run(0);
        mocked.fault = "leaders-move".to_owned();
        assert!(section(&[run(0), mocked]).contains("\n20 kills and 20 faults of a mock cluster in all:"));
    }
}
