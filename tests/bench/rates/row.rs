use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
};

use claimstream_testbed::replace_table;
use serde::{Deserialize, Serialize};

use crate::Failure;

/// The best rates with one broker, in messages a second.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) broker: String,
    ours: f64,
    alone: f64,
}

impl Row {
    pub(crate) fn of(broker: &str) -> Self {
        Self { broker: broker.to_owned(), ours: 0.0, alone: 0.0 }
    }

    /// Notes a round of the adapter.
    pub(crate) fn ours(&mut self, rate: f64) {
        self.ours = self.ours.max(rate.round());
    }

    /// Notes a round of the broker's own client.
    pub(crate) fn alone(&mut self, rate: f64) {
        self.alone = self.alone.max(rate.round());
    }

    fn ratio(&self) -> f64 {
        self.ours / self.alone
    }

    /// The rows that a text has, one JSON object a line.
    fn read(text: &str) -> Result<Vec<Self>, Failure> {
        Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    }

    /// Adds the row to a file of such lines.
    pub(crate) fn append(&self, file: &Path) -> Result<(), Failure> {
        let mut to = OpenOptions::new().create(true).append(true).open(file)?;
        Ok(writeln!(to, "{}", serde_json::to_string(self)?)?)
    }

    fn shown(&self) -> String {
        let Self { broker, ours, alone } = self;
        format!("| {broker} | {ours:.0} | {alone:.0} | {:.2} |\n", self.ratio())
    }
}

/// The table of rows, as `docs/publishing.md` has it.
pub(crate) fn table(rows: &[Row]) -> String {
    HEAD.to_owned() + &rows.iter().map(Row::shown).collect::<String>()
}

const HEAD: &str = "\
| broker | messages a second in batches of 100 | by its own client alone | ratio |
|---|--:|--:|--:|
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
        let rows = Row::read(&file("benchmarks/rates.jsonl")).unwrap();
        let page = file("docs/publishing.md");
        assert!(page.contains(&format!("\n{}\n", table(&rows))), "write it again: rates report");
    }
}
