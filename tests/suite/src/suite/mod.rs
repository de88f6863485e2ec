//! Tests by name, cases and their needs, and the report at the end.

mod backends;
mod case;
mod coverage;
mod need;
mod panics;
mod repetitions;
mod report;
mod servers;

use std::{
    num::NonZero,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    sync::{Arc, LazyLock},
    thread,
    time::{Duration, Instant},
};

use libtest_mimic::{Arguments, Conclusion, Failed, Trial};
use panics::{failed, remember_panics};
use tokio::runtime::{Builder, Runtime};

pub use self::{case::Case, coverage::Coverage, need::Need, repetitions::repetitions, report::Report};
pub use crate::cases;
use crate::databases::{drop_all, lending};

/// Tests with a name each, and the report that is shown when they have been run.
#[derive(Default)]
pub struct Suite {
    tests: Vec<Trial>,
    waiting: Vec<Trial>,
    not_run: Vec<Trial>,
    /// The group of the long tier that tests are being added to, if any.
    long: Option<&'static str>,
    mostly_waits: bool,
    report: Arc<Report>,
    coverage: Coverage,
}

/// How many of the slowest tests are shown at the end.
const SLOWEST: &str = "CLAIMSTREAM_SLOWEST";

/// No clause needs that long; one that does is stuck.
pub const STUCK: Duration = Duration::from_secs(300);

/// What tests run on.
pub static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime"));

impl Suite {
    /// Adds a test that belongs to no backend.
    pub fn add_test(&mut self, name: &str, run: impl FnOnce() + Send + 'static) {
        self.push(name.to_owned(), move || {
            remember_panics();
            panic::catch_unwind(AssertUnwindSafe(run)).map_err(failed)
        });
    }

    /// Adds a test that belongs to no backend and waits; one that is stuck fails.
    pub fn add_async_test(&mut self, name: &str, run: impl Future<Output = ()> + Send + 'static) {
        let limit = if self.long.is_some() { Duration::MAX } else { STUCK };
        self.add_test(name, move || {
            let ran = RUNTIME.block_on(async move { tokio::time::timeout(limit, run).await });
            ran.unwrap_or_else(|_| panic!("stuck for {limit:?}"));
        });
    }

    /// Adds a test of the long tier, which is ignored unless it is asked for; `group` says what it needs or does.
    pub fn add_long(&mut self, group: &'static str, name: &str, run: impl FnOnce() + Send + 'static) {
        self.long(group, |suite| suite.add_test(name, run));
    }

    /// Puts the tests that this adds into the long tier.
    pub fn long(&mut self, group: &'static str, add: impl FnOnce(&mut Self)) {
        let outer = self.long.replace(group);
        add(self);
        self.long = outer;
    }

    /// Names something that is not run here; an ignored test keeps it in sight.
    pub fn add_not_run(&mut self, what: &str, why: &str) {
        self.report.not_run(what, why);
        let why = why.to_owned();
        let test = Trial::test(format!("{what}::is_not_run"), move || Err(why.into()));
        self.not_run.push(test.with_ignored_flag(true));
    }

    /// Names the needs of cases that no backend of a store has.
    pub fn add_left_out(&mut self) {
        let missing = self.coverage.missing_on_stores().into_iter();
        let lines = missing.map(|(store, need, cases)| {
            (format!("{store}::{}", need.name()), format!("no backend of it has what {cases} cases need"))
        });
        for (what, why) in lines.collect::<Vec<_>>() {
            self.add_not_run(&what, &why);
        }
    }

    /// Which cases run somewhere.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Sets aside the tests that this adds, because they wait for time to pass and hardly work; they run after the others.
    pub fn add_waiting(&mut self, add: impl FnOnce(&mut Self)) {
        let before = self.tests.len();
        add(self);
        self.waiting.extend(self.tests.drain(before..));
    }

    /// Runs twice as many at once as otherwise, because most of these wait rather than work.
    pub fn mostly_waits(&mut self) {
        self.mostly_waits = true;
    }

    /// How many tests there are.
    pub fn tests(&self) -> usize {
        self.tests.len() + self.waiting.len() + self.not_run.len()
    }

    /// What is shown when tests have been run.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Runs what the command line selects and shows the report.
    pub fn run(mut self, environment: impl Fn(&str) -> Option<String>) -> ExitCode {
        let arguments = Arguments::from_args();
        // What cannot run here is named among the ignored tests, and left out when those run.
        if !arguments.ignored && !arguments.include_ignored {
            self.tests.append(&mut self.not_run);
        }
        let slowest = environment(SLOWEST).and_then(|count| count.parse().ok()).unwrap_or(10);
        let per_core = if self.mostly_waits { 6 } else { 3 };
        let worked = run_at_once(per_core, arguments.clone(), self.tests);
        let waited = run_at_once(per_core, arguments.clone(), self.waiting);
        drop_all();
        if !arguments.list {
            println!("{}\n{}\n{}", self.report, self.coverage, self.report.slowest(slowest));
        }
        if worked.has_failed() { worked.exit_code() } else { waited.exit_code() }
    }

    fn push(&mut self, name: String, run: impl FnOnce() -> Result<(), Failed> + Send + 'static) {
        let (report, test) = (self.report.clone(), name.clone());
        let test = Trial::test(name, move || {
            let begun = Instant::now();
            let ran = lending(run);
            report.took(&test, begun.elapsed());
            ran
        });
        self.tests.push(match self.long {
            Some(group) => test.with_ignored_flag(true).with_kind(format!("long: {group}")),
            None => test,
        });
    }
}

/// Runs several at once on each core, because a test waits for its server most of the time; at most 24, which open about 1,000 files.
fn run_at_once(per_core: usize, mut arguments: Arguments, tests: Vec<Trial>) -> Conclusion {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    arguments.test_threads.get_or_insert((per_core * cores).min(24));
    libtest_mimic::run(&arguments, tests)
}
