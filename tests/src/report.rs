use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, PoisonError},
};

/// What came of every store with every strategy, and what was not run and why; shown at the end.
#[derive(Default)]
pub struct Report {
    rows: Mutex<BTreeMap<(String, String), Row>>,
    not_run: Mutex<Vec<(String, String)>>,
}

#[derive(Default)]
struct Row {
    offered: usize,
    run: usize,
    passed: usize,
    refused: Option<String>,
}

impl Report {
    /// Notes that a venue has one more trial.
    pub fn offer(&self, store: &str, strategy: &str) {
        self.row(store, strategy, |row| row.offered += 1);
    }

    /// Notes how a trial went.
    pub fn note(&self, store: &str, strategy: &str, passed: bool) {
        self.row(store, strategy, |row| {
            row.run += 1;
            row.passed += usize::from(passed);
        });
    }

    /// Notes that a store refused a strategy, in its own words.
    pub fn refused(&self, store: &str, strategy: &str, sentence: &str) {
        self.row(store, strategy, |row| row.refused = Some(sentence.to_owned()));
    }

    /// Notes that something was not run.
    pub fn not_run(&self, what: &str, why: &str) {
        let mut not_run = self.not_run.lock().unwrap_or_else(PoisonError::into_inner);
        not_run.push((what.to_owned(), why.to_owned()));
    }

    fn row(&self, store: &str, strategy: &str, change: impl FnOnce(&mut Row)) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        change(rows.entry((store.to_owned(), strategy.to_owned())).or_default());
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(f, "store | strategy | passed/run")?;
        for ((store, strategy), row) in rows.iter() {
            writeln!(f, "{store} | {strategy} | {row}")?;
        }
        let not_run = self.not_run.lock().unwrap_or_else(PoisonError::into_inner);
        not_run.iter().try_for_each(|(what, why)| writeln!(f, "not run: {what} ({why})"))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(sentence) = &self.refused {
            return write!(f, "refused: {sentence}");
        }
        write!(f, "{}/{}", self.passed, self.run)?;
        match self.offered - self.run {
            0 => Ok(()),
            left_out => write!(f, " ({left_out} filtered out)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_numbers_refusals_and_what_was_not_run() {
        let report = Report::default();
        for passed in [true, false] {
            report.offer("mysql-9.7", "skip_locked");
            report.note("mysql-9.7", "skip_locked", passed);
        }
        report.offer("memory", "reference");
        report.offer("memory", "reference");
        report.note("memory", "reference", true);
        report.refused("mariadb-10.5", "skip_locked", "it has no SKIP LOCKED");
        report.not_run("mariadb-11.8", "no URL");
        let expected = "store | strategy | passed/run\n\
            mariadb-10.5 | skip_locked | refused: it has no SKIP LOCKED\n\
            memory | reference | 1/1 (1 filtered out)\n\
            mysql-9.7 | skip_locked | 1/2\n\
            not run: mariadb-11.8 (no URL)\n";
        assert_eq!(report.to_string(), expected);
    }
}
