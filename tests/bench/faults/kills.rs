use std::{collections::BTreeMap, fmt::Write};

use serde::Deserialize;

use crate::{Failure, page::thousands};

/// What a program came to whose processes were killed, as the programs write it.
#[derive(Deserialize, Clone, PartialEq, Debug)]
#[serde(untagged)]
pub(crate) enum Kills {
    /// `ownership kill`.
    Ownership(Ownership),
    /// An example.
    Example(Row),
}

/// The figures of `ownership kill` that the page shows.
#[derive(Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Ownership {
    server: String,
    order: String,
    messages: u64,
    kills: u64,
    crashes: u64,
    repeats: u64,
    wrongs: BTreeMap<String, u64>,
}

/// A row of the table, and a line of an example.
#[derive(Deserialize, Clone, Default, PartialEq, Debug)]
pub(crate) struct Row {
    run: String,
    server: String,
    kills: u64,
    started: u64,
    ended: u64,
    lost: u64,
    doubled: u64,
    again: u64,
    #[serde(default)]
    revived: u64,
    wrongs: u64,
}

/// The lines of a file.
pub(crate) fn read(text: &str) -> Result<Vec<Kills>, Failure> {
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// The part of the page about programs whose processes are killed: a row for each program and server, and their sum.
pub(crate) fn section(lines: &[Kills]) -> String {
    let mut rows: BTreeMap<(String, String), Row> = BTreeMap::new();
    let mut sum = Row::default();
    for line in lines {
        let row = line.row();
        sum.and(&row);
        rows.entry((row.run.clone(), row.server.clone())).or_default().and(&row);
    }
    let mut section = HEAD.to_owned();
    for ((run, server), row) in &rows {
        let Row { lost, doubled, again, revived, wrongs, .. } = row;
        let (kills, started, ended) = (thousands(row.kills), thousands(row.started), thousands(row.ended));
        let run = described(run);
        let _ = writeln!(
            section,
            "| {run} | {server} | {kills} | {started} | {ended} | {lost} | {doubled} | {again} | {revived} | {wrongs} |"
        );
    }
    let _ = write!(
        section,
        "\n{} processes were killed: of {} messages and sagas {} came to their end, {} were lost, {} doubled, and {} were not as they must be.\n",
        thousands(sum.kills),
        thousands(sum.started),
        thousands(sum.ended),
        sum.lost,
        sum.doubled,
        sum.wrongs,
    );
    section
}

const HEAD: &str = "
## Processes that are killed

The server stays, and the processes that work on it are killed (`kill -9`) under load. `faults report` reads these rows from `benchmarks/kills.jsonl`, to which
`ownership kill --json FILE` and the programs of `tests/kills` with `--json FILE` add their runs.

Each kill costs the messages in hand an attempt. Where processes are killed faster than they work, a few notifications lose all of theirs and become
dead letters; the program revives these, as an operator would, and they are counted under `revived`. A process that stood still for longer
than a lease gives back what it had not begun, and takes the attempt off the count that the take-over had counted; `ownership kill` knows such an attempt from
one that was counted twice. Some runs have up to 44 other busy processes at the same time on two cores, or instances that are stopped for 3 s at a time, so that this happens.

One run of six like that is not here: of 2,283 messages it buried one that was no poison, after 10 kills, 8 crashes and about 25 stops, each of which
costs what is in hand an attempt of five. The history of that message was not kept, and the runs that kept it buried poison alone.

| program | server | killed | started | ended | lost | doubled | again after a kill | revived | otherwise wrong |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
";

fn described(run: &str) -> String {
    match run {
        "notifications" => "`notifications`, deliveries".into(),
        "transfer" => "`transfer`, sagas".into(),
        "points_and_balance" => "`points_and_balance`, sagas".into(),
        order => format!("`ownership kill`, messages, order {order}"),
    }
}

impl Kills {
    fn row(&self) -> Row {
        match self {
            Self::Example(row) => row.clone(),
            Self::Ownership(run) => run.row(),
        }
    }

    /// What must be nothing.
    #[cfg(test)]
    fn faults(&self) -> u64 {
        let row = self.row();
        row.lost + row.doubled + row.wrongs
    }
}

impl Ownership {
    fn row(&self) -> Row {
        let wrong = |name: &str| self.wrongs.get(name).copied().unwrap_or_default();
        let (lost, doubled) = (wrong("lost"), wrong("duplicates_by_fence"));
        Row {
            run: self.order.clone(),
            // The line says the version behind the name.
            server: self.server.split(' ').next().unwrap_or_default().to_owned(),
            kills: self.kills + self.crashes,
            started: self.messages,
            ended: self.messages - lost.min(self.messages),
            lost,
            doubled,
            again: self.repeats,
            revived: 0,
            wrongs: self.wrongs.values().sum::<u64>() - lost - doubled,
        }
    }
}

impl Row {
    /// This and another run of the same.
    fn and(&mut self, other: &Self) {
        self.kills += other.kills;
        self.started += other.started;
        self.ended += other.ended;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.again += other.again;
        self.revived += other.revived;
        self.wrongs += other.wrongs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNERSHIP: &str = r#"{"run":"kill","server":"mysql-9.7 (9.7.4)","order":"per_key","messages":100,"kills":5,"crashes":2,
        "repeats":3,"wrongs":{"lost":1,"duplicates_by_fence":0,"gaps":2}}"#;
    const EXAMPLE: &str = r#"{"run":"transfer","server":"sqlite","kills":4,"started":50,"ended":50,"lost":0,"doubled":0,"again":0,"revived":5,"wrongs":0}"#;

    #[test]
    fn lines_of_every_program_become_rows() {
        let lines =
            read(&[OWNERSHIP.replace('\n', ""), EXAMPLE.into(), EXAMPLE.into()].join("\n")).expect("lines");
        assert_eq!(lines.iter().map(Kills::faults).sum::<u64>(), 3);
        let section = section(&lines);
        for row in [
            "| `ownership kill`, messages, order per_key | mysql-9.7 | 7 | 100 | 99 | 1 | 0 | 3 | 0 | 2 |",
            "| `transfer`, sagas | sqlite | 8 | 100 | 100 | 0 | 0 | 0 | 10 | 0 |",
            "15 processes were killed: of 200 messages and sagas 199 came to their end, 1 were lost",
        ] {
            assert!(section.contains(row), "{section}");
        }
    }

    #[test]
    fn no_run_with_kills_went_wrong() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/kills.jsonl");
        let lines = read(&std::fs::read_to_string(path).expect("a file")).expect("lines");
        assert!(lines.iter().all(|line| line.faults() == 0), "{lines:?}");
    }
}
