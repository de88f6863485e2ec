use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
    time::Duration,
};

use claimstream_testbed::{Server, replace_table};
use serde::{Deserialize, Serialize};

use crate::{Failure, way::Way};

/// What was measured on one server with one way of being woken.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    server: String,
    way: Way,
    p50_ms: f64,
    p99_ms: f64,
    idle_statements_a_minute: f64,
}

impl Row {
    /// A row of sorted times.
    pub(crate) fn of(server: Server, way: Way, times: &[Duration], idle_statements_a_minute: f64) -> Self {
        let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
        let millis = |time: Duration| (time.as_secs_f64() * 10_000.0).round() / 10.0;
        let (p50_ms, p99_ms) = (millis(at(50)), millis(at(99)));
        Self { server: server.name.to_owned(), way, p50_ms, p99_ms, idle_statements_a_minute }
    }

    /// The rows that a text has, one JSON object a line.
    pub(crate) fn read(text: &str) -> Result<Vec<Self>, Failure> {
        Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    }

    /// Adds the row to a file of such lines.
    pub(crate) fn append(&self, file: &Path) -> Result<(), Failure> {
        let mut to = OpenOptions::new().create(true).append(true).open(file)?;
        Ok(writeln!(to, "{}", serde_json::to_string(self)?)?)
    }

    fn shown(&self) -> String {
        let Self { server, way, p50_ms, p99_ms, idle_statements_a_minute } = self;
        format!(
            "| {server} | {} | {p50_ms:.1} ms | {p99_ms:.1} ms | {idle_statements_a_minute:.0} |\n",
            way.name()
        )
    }
}

/// The table of rows, as `docs/wakeups.md` has it.
pub(crate) fn table(rows: &[Row]) -> String {
    HEAD.to_owned() + &rows.iter().map(Row::shown).collect::<String>()
}

const HEAD: &str = "\
| server | woken by | commit answered to handler, p50 | p99 | statements of an idle relay in a minute |
|---|---|--:|--:|--:|
";

/// Puts the table of what the lines have in place of the one that the page has.
pub(crate) fn report(lines: &Path, page: &Path) -> Result<(), Failure> {
    let rows = Row::read(&fs::read_to_string(lines)?)?;
    Ok(replace_table(page, HEAD, &table(&rows))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_what_was_measured() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let file = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        let rows = Row::read(&file("benchmarks/wakeups.jsonl")).unwrap();
        assert_eq!(rows.len(), Server::ALL.len() * Way::ALL.len());
        let page = file("docs/wakeups.md");
        assert!(page.contains(&format!("\n{}\n", table(&rows))), "write it again: wakeups report");
    }
}
