use crate::{record::Record, statistics::ratio};

/// All that was measured: what was measured in enough rounds last, and of that the newest.
pub(super) struct Book {
    records: Vec<Record>,
    /// Of the library as it was: only to be compared with, so that no reader takes them for what to expect.
    before: Vec<Record>,
}

impl Book {
    /// The commit that targets name where they are against the library as it was.
    pub(super) const BEFORE: &str = "631a2f6";

    /// More rounds make no older figure the better one.
    const ENOUGH: usize = 3;

    pub(super) fn new(mut records: Vec<Record>) -> Self {
        records.sort_by_key(|record| record.rounds.len().min(Self::ENOUGH));
        let was_it = |one: &Record| one.commit.as_deref().is_some_and(|name| name.starts_with(Self::BEFORE));
        let (before, records) = records.into_iter().partition(was_it);
        Self { records, before }
    }

    /// The servers, in the order in which they were measured first.
    pub(super) fn servers(&self) -> Vec<&str> {
        distinct(self.records.iter().map(|record| record.server.name.as_str()))
    }

    /// The scenarios, in the order of the report, and then those that others measured.
    pub(super) fn scenarios(&self) -> Vec<&str> {
        const DESCRIBED: [&str; 18] = [
            "notifications",
            "order",
            "drain",
            "backlog",
            "steady",
            "retention",
            "highest_rate",
            "snapshot",
            "near_empty",
            "idle",
            "wakeup",
            "single",
            "network",
            "enqueue",
            "payloads",
            "queues",
            "memory",
            "statements",
        ];
        let there = distinct(self.records.iter().map(|record| record.scenario.as_str()));
        let described = DESCRIBED.into_iter().filter(|name| there.contains(name));
        let others = there.iter().copied().filter(|name| !DESCRIBED.contains(name));
        described.chain(others).collect()
    }

    /// One record of each run, in order.
    pub(super) fn runs(&self) -> Vec<&Record> {
        let runs = distinct(self.records.iter().map(|record| record.run.as_str()));
        runs.iter().filter_map(|run| self.records.iter().find(|record| record.run == *run)).collect()
    }

    /// The last record of each cell of a scenario.
    pub(super) fn cells(&self, server: &str, scenario: &str) -> Vec<&Record> {
        let mut cells: Vec<&Record> = Vec::new();
        let here = self.records.iter().filter(|one| one.server.name == server && one.scenario == scenario);
        for record in here {
            match cells.iter_mut().find(|cell| cell.is_same_cell(record)) {
                // A round that failed does not replace one that was measured.
                Some(cell) if !record.rounds.is_empty() || cell.rounds.is_empty() => *cell = record,
                Some(_) => {}
                None => cells.push(record),
            }
        }
        cells
    }

    /// The last median of a cell that this is true of.
    pub(super) fn figure(&self, server: &str, figure: &str, is: impl Fn(&Record) -> bool) -> Option<f64> {
        newest(&self.records, server, figure, is)
    }

    /// The newest median of a cell by that of the library as it was.
    pub(super) fn against_before(
        &self,
        server: &str,
        figure: &str,
        is: impl Fn(&Record) -> bool,
    ) -> Option<f64> {
        ratio(newest(&self.records, server, figure, &is)?, newest(&self.before, server, figure, &is)?)
    }

    /// One cell's median by the largest of the others', of the last run that has both.
    pub(super) fn ratio(
        &self,
        server: &str,
        figure: &str,
        is_one: impl Fn(&Record) -> bool,
        is_other: impl Fn(&Record) -> bool,
    ) -> Option<f64> {
        let here = |run: &str| {
            let of_run = self.records.iter().filter(move |one| one.run == run && one.server.name == server);
            of_run.collect::<Vec<_>>()
        };
        self.runs().iter().rev().find_map(|run| {
            let run = here(&run.run);
            let one =
                run.iter().rev().filter(|record| is_one(record)).find_map(|record| record.median(figure));
            let others =
                run.iter().filter(|record| is_other(record)).filter_map(|record| record.median(figure));
            ratio(one?, others.max_by(f64::total_cmp)?)
        })
    }

    /// All cells of a server that this is true of, every scenario.
    pub(super) fn all<'a>(&'a self, server: &'a str, is: impl Fn(&Record) -> bool + 'a) -> Vec<&'a Record> {
        let scenarios = self.scenarios().into_iter();
        scenarios.flat_map(|name| self.cells(server, name)).filter(|record| is(record)).collect()
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct: Vec<&str> = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

fn newest(records: &[Record], server: &str, figure: &str, is: impl Fn(&Record) -> bool) -> Option<f64> {
    let newest = records.iter().rev().filter(|record| record.server.name == server && is(record));
    newest.filter_map(|record| record.median(figure)).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Round;

    fn record(run: &str, contender: &str, rate: f64) -> Record {
        let mut round = Round::default();
        round.set("rate", rate);
        Record { run: run.into(), contender: contender.into(), rounds: vec![round], ..Record::default() }
    }

    #[test]
    fn a_ratio_stays_inside_one_run() {
        let book = Book::new(vec![
            record("first", "a", 10.0),
            record("first", "b", 5.0),
            record("second", "a", 90.0),
            record("third", "c", 1.0),
        ]);
        let is = |name: &'static str| move |record: &Record| record.contender == name;
        assert_eq!(book.ratio("", "rate", is("a"), is("b")), Some(2.0));
        assert_eq!(book.ratio("", "rate", is("a"), is("c")), None);
        assert_eq!(book.figure("", "rate", is("a")), Some(90.0));
    }

    #[test]
    fn figures_of_the_library_as_it_was_are_only_compared_with() {
        let of = |commit: &str, rate| Record { commit: Some(commit.into()), ..record("r", "a", rate) };
        let book = Book::new(vec![of("631a2f6", 4.0), of("c8ba459f", 12.0)]);
        assert_eq!(book.against_before("", "rate", |_| true), Some(3.0));
        assert_eq!(book.figure("", "rate", |_| true), Some(12.0));
        let old = Book::new(vec![of("631a2f6", 4.0)]);
        assert_eq!(old.figure("", "rate", |_| true), None);
        assert_eq!(old.against_before("", "rate", |_| true), None);
    }

    #[test]
    fn three_rounds_of_today_replace_five_of_yesterday_and_one_does_not() {
        let of = |run: &str, rounds: usize, rate| {
            let one = record(run, "a", rate);
            Record { rounds: vec![one.rounds[0].clone(); rounds], ..one }
        };
        let book = Book::new(vec![of("old", 5, 1.0), of("new", 3, 2.0), of("newest", 1, 3.0)]);
        assert_eq!(book.figure("", "rate", |_| true), Some(2.0));
    }

    #[test]
    fn a_newer_record_replaces_an_older_one_unless_it_failed() {
        let failed = Record { rounds: Vec::new(), failures: vec!["x".into()], ..record("c", "a", 0.0) };
        let book = Book::new(vec![record("a", "a", 1.0), record("b", "a", 2.0), failed]);
        let cells = book.cells("", "");
        assert_eq!(cells.iter().map(|cell| cell.run.as_str()).collect::<Vec<_>>(), ["b"]);
    }
}
