use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// What came of every store with every strategy, what was not run and why, and what took longest; shown at the end.
#[derive(Default)]
pub struct Report {
    rows: Mutex<BTreeMap<(String, String), Row>>,
    not_run: Mutex<Vec<(String, String)>>,
    times: Mutex<Vec<(String, Duration)>>,
}

#[derive(Default)]
struct Row {
    offered: usize,
    run: usize,
    passed: usize,
    refused: Option<String>,
}

impl Report {
    /// Notes that a backend has one more test.
    pub fn offer(&self, store: &str, strategy: &str) {
        self.row(store, strategy, |row| row.offered += 1);
    }

    /// Notes how a test went.
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
        open(&self.not_run).push((what.to_owned(), why.to_owned()));
    }

    /// Notes how long a test took.
    pub fn took(&self, test: &str, time: Duration) {
        open(&self.times).push((test.to_owned(), time));
    }

    /// The tests that took longest, a line each, and what all of them took together.
    pub fn slowest(&self, count: usize) -> String {
        let mut times = open(&self.times).clone();
        times.sort_by(|one, other| (Reverse(one.1), &one.0).cmp(&(Reverse(other.1), &other.0)));
        let all: Duration = times.iter().map(|(_, time)| *time).sum();
        let slowest =
            times.iter().take(count).map(|(test, time)| format!("{:7.1} s  {test}\n", time.as_secs_f64()));
        let listed = slowest.collect::<String>();
        format!("slowest of {} tests, which took {:.0} s together:\n{listed}", times.len(), all.as_secs_f64())
    }

    /// A line for each store with tests: `store: strategy, strategy`.
    pub fn inventory(&self) -> Vec<String> {
        let rows = open(&self.rows);
        let mut stores: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (store, strategy) in rows.keys() {
            stores.entry(store).or_default().push(strategy);
        }
        stores.iter().map(|(store, strategies)| format!("{store}: {}", strategies.join(", "))).collect()
    }

    fn row(&self, store: &str, strategy: &str, change: impl FnOnce(&mut Row)) {
        change(open(&self.rows).entry((store.to_owned(), strategy.to_owned())).or_default());
    }
}

fn open<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "store | strategy | passed/run")?;
        for ((store, strategy), row) in open(&self.rows).iter() {
            writeln!(f, "{store} | {strategy} | {row}")?;
        }
        open(&self.not_run).iter().try_for_each(|(what, why)| writeln!(f, "not run: {what} ({why})"))
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
