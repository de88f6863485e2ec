mod report;

use std::{
    any::Any,
    cell::RefCell,
    num::NonZero,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    sync::{Arc, LazyLock},
    thread,
    time::{Duration, Instant},
};

use claimstream_ports::StoreError;
use claimstream_sea_orm::Strategy;
use futures::{FutureExt, future::BoxFuture};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::{Builder, Runtime};

pub use report::Report;

use crate::{
    Server,
    backend::{SeaOrmVenue, Venue, Venues},
    claims::reading_on,
    conformance::{self, Clause},
    model, order, scenarios,
    servers::{self, REQUIRED},
    settlement::redelivery,
};

/// Trials with a name each, and the report that is shown when they have been run.
#[derive(Default)]
pub struct Suite {
    trials: Vec<Trial>,
    report: Arc<Report>,
}

/// How many of the slowest trials are shown at the end.
const SLOWEST: &str = "CLAIMSTREAM_SLOWEST";

/// No clause needs that long; one that does is stuck.
pub(crate) const STUCK: Duration = Duration::from_secs(300);

pub(crate) static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime"));

impl Suite {
    /// Adds every clause and scenario of every venue.
    pub fn add_venues(&mut self, venues: Venues) {
        for venue in venues.outbox {
            self.add(&venue, conformance::outbox(), |venue| Box::pin(async move { venue.stage().await }));
            self.add(&venue, scenarios::all(), |venue| Box::pin(async move { venue.stage().await }));
            redelivery::add_to(self, venue.clone());
            model::add_to(self, venue);
        }
        for venue in venues.owner {
            self.add(&venue, conformance::ownership(), |venue| Box::pin(async move { venue.stage().await }));
            self.add(&venue, conformance::ahead(), |venue| Box::pin(async move { venue.stage().await }));
        }
        for venue in venues.ordered {
            self.add(&venue, conformance::order(), |venue| Box::pin(async move { venue.stage().await }));
            order::add_many_keys_to(self, venue.clone());
            reading_on::add_to(self, venue.clone());
            order::add_to(self, venue);
        }
        for venue in venues.late {
            self.add(&venue, conformance::late(), |venue| Box::pin(async move { venue.stage().await }));
            order::add_commits_to(self, venue);
        }
        for venue in venues.skipping {
            self.add(&venue, conformance::skipping(), |venue| Box::pin(async move { venue.stage().await }));
        }
        for venue in venues.concurrent {
            self.add(&venue, conformance::concurrent(), |venue| Box::pin(async move { venue.stage().await }));
            self.add(&venue, scenarios::concurrent(), |venue| Box::pin(async move { venue.stage().await }));
        }
        for venue in venues.payload {
            self.add(&venue, conformance::payload(), |venue| Box::pin(async move { venue.stage().await }));
        }
        for venue in venues.opening {
            self.add(&venue, conformance::opening(), |venue| {
                Box::pin(async move { venue.server_stage().await })
            });
        }
        for (venue, strategy) in venues.choosing {
            self.add_choice(venue, strategy);
        }
        for venue in venues.server {
            self.add(&venue, scenarios::server(), |venue| {
                Box::pin(async move { venue.server_stage().await })
            });
        }
        for venue in venues.packet {
            self.add(&venue, conformance::packet(), |venue| {
                Box::pin(async move { venue.server_stage().await })
            });
        }
        for venue in venues.notification {
            self.add(&venue, conformance::notification().chain(scenarios::revival()), |venue| {
                Box::pin(async move { venue.notification_stage().await })
            });
        }
        for venue in venues.fan_out {
            self.add(&venue, scenarios::fan_out(), |venue| {
                Box::pin(async move { venue.notification_stage().await })
            });
        }
        for venue in venues.step {
            self.add(&venue, conformance::step(), |venue| Box::pin(async move { venue.step_stage().await }));
        }
        for venue in venues.concurrent_step {
            self.add(&venue, conformance::concurrent_step(), |venue| {
                Box::pin(async move { venue.step_stage().await })
            });
        }
        for venue in venues.timer {
            self.add(&venue, scenarios::timer(), |venue| Box::pin(async move { venue.timer_stage().await }));
        }
        for venue in venues.concurrent_timer {
            self.add(&venue, scenarios::concurrent_timer(), |venue| {
                Box::pin(async move { venue.timer_stage().await })
            });
        }
        for venue in venues.guarded {
            self.add(&venue, conformance::guarded(), |venue| Box::pin(async move { venue.stage().await }));
            self.add(&venue, scenarios::all(), |venue| Box::pin(async move { venue.stage().await }));
            redelivery::add_to(self, venue);
        }
        for venue in venues.guarded_server {
            self.add(&venue, scenarios::guarded_server(), |venue| {
                Box::pin(async move { venue.server_stage().await })
            });
        }
        for venue in venues.lock {
            self.add(&venue, conformance::lock(), |venue| Box::pin(async move { venue.lock_stage().await }));
        }
    }

    /// Adds a venue that must refuse to be opened, with a sentence that names a strategy that works.
    pub fn add_refusal(&mut self, venue: Arc<dyn Venue>, works: &'static [&'static str]) {
        let name = format!("{}::{}::is_refused_at_open", venue.name(), venue.strategy());
        let report = self.report.clone();
        self.push(name, move || {
            let Err(error) = RUNTIME.block_on(venue.stage()) else {
                return Err("it was opened".into());
            };
            let sentence = error.to_string();
            report.refused(venue.name(), venue.strategy(), &sentence);
            match works.iter().any(|strategy| sentence.contains(strategy)) {
                true => Ok(()),
                false => Err(format!("it names none of {works:?}: {sentence}").into()),
            }
        });
    }

    /// Adds a trial that belongs to no venue.
    pub fn add_trial(&mut self, name: &str, run: impl FnOnce() + Send + 'static) {
        self.push(name.to_owned(), move || {
            remember_panics();
            panic::catch_unwind(AssertUnwindSafe(run)).map_err(failed)
        });
    }

    /// Adds a trial that belongs to no venue and waits.
    pub fn add_async_trial(&mut self, name: &str, run: impl Future<Output = ()> + Send + 'static) {
        self.add_trial(name, move || RUNTIME.block_on(run));
    }

    /// Names something that is not run here; an ignored trial keeps it in sight.
    pub fn add_not_run(&mut self, what: &str, why: &str) {
        self.report.not_run(what, why);
        let why = why.to_owned();
        let trial = Trial::test(format!("{what}::is_not_run"), move || Err(why.into()));
        self.trials.push(trial.with_ignored_flag(true));
    }

    /// Adds what can be said about a server: its venues if it is there, a failure if it is required and missing, and a
    /// line in the report otherwise.
    pub fn add_server(&mut self, server: Server, environment: impl Fn(&str) -> Option<String>) {
        if let Some(url) = server.url(&environment) {
            let redis = servers::redis_url(&environment);
            self.add_venues(Venues::of_server(server, &url, redis.as_deref()));
            if !server.skips_locked {
                let refused = SeaOrmVenue::server(server.name, &url, "skip_locked");
                self.add_refusal(Arc::new(refused), server.strategies());
            }
            return;
        }
        let why = format!("{} is not set; tests/run sets it", server.variable);
        if server.is_required(&environment) {
            let why = format!("{REQUIRED} asks for {}, but {why}", server.name);
            self.add_trial(&format!("{}::is_there", server.name), move || panic!("{why}"));
        } else {
            self.add_not_run(server.name, &why);
        }
    }

    /// The same about a Redis: its URL if it is there.
    pub fn add_redis(&mut self, environment: impl Fn(&str) -> Option<String>) -> Option<String> {
        let (name, variable) = (servers::REDIS, servers::REDIS_VARIABLE);
        let why = format!("{variable} is not set; tests/run sets it");
        match servers::redis_url(&environment) {
            Some(url) => {
                self.add_venues(Venues::of_redis(&url));
                return Some(url);
            }
            None if servers::is_required(name, &environment) => {
                let why = format!("{REQUIRED} asks for {name}, but {why}");
                self.add_trial(&format!("{name}::is_there"), move || panic!("{why}"));
            }
            None => ["redis::locks", "redis::wakeups", "lock:redis"]
                .map(|what| self.add_not_run(what, &why))
                .into_iter()
                .collect(),
        }
        None
    }

    /// Adds a failure for each server that is required and unknown.
    pub fn add_unknown_requirements(&mut self, environment: impl Fn(&str) -> Option<String>) {
        for name in Server::unknown_requirements(environment) {
            let why =
                format!("{REQUIRED} names {name:?}, known are {:?} and redis", Server::ALL.map(|s| s.name));
            self.add_trial(&format!("{name}::is_known"), move || panic!("{why}"));
        }
    }

    /// How many trials there are.
    pub fn trials(&self) -> usize {
        self.trials.len()
    }

    /// What is shown when trials have been run.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Runs what the command line selects and shows the report.
    pub fn run(self, environment: impl Fn(&str) -> Option<String>) -> ExitCode {
        let mut arguments = Arguments::from_args();
        arguments.test_threads.get_or_insert_with(threads);
        let shows_report = !arguments.list;
        let slowest = environment(SLOWEST).and_then(|count| count.parse().ok()).unwrap_or(10);
        let conclusion = libtest_mimic::run(&arguments, self.trials);
        if shows_report {
            println!("{}\n{}", self.report, self.report.slowest(slowest));
        }
        conclusion.exit_code()
    }

    /// Adds that `auto` is a strategy whose clauses are all played by its own name, so that they need not be played again.
    fn add_choice(&mut self, venue: Arc<SeaOrmVenue>, strategy: Strategy) {
        let name = format!(
            "{}::{}::opening::it_is_a_strategy_that_is_played_by_name",
            venue.name(),
            venue.strategy()
        );
        let report = self.report.clone();
        report.offer(venue.name(), venue.strategy());
        self.push(name, move || {
            let played = match RUNTIME.block_on(chosen(&venue)) {
                Ok(chosen) if chosen == strategy => Ok(()),
                Ok(chosen) => Err(Failed::from(format!("it is {chosen}, and not {strategy}"))),
                Err(error) => Err(Failed::from(error.to_string())),
            };
            report.note(venue.name(), venue.strategy(), played.is_ok());
            played
        });
    }

    fn add<V, S>(
        &mut self,
        venue: &Arc<V>,
        clauses: impl Iterator<Item = &'static Clause<S>>,
        open: fn(Arc<V>) -> BoxFuture<'static, Result<S, StoreError>>,
    ) where
        V: Venue + ?Sized + 'static,
        S: Send + 'static,
    {
        let owed = |clause: &&Clause<S>| !(venue.owns_shards() && conformance::asks_for_sharing(clause));
        for clause in clauses.filter(owed) {
            let (venue, report) = (venue.clone(), self.report.clone());
            let name = format!("{}::{}::{}::{}", venue.name(), venue.strategy(), clause.topic, clause.name);
            report.offer(venue.name(), venue.strategy());
            self.push(name, move || {
                let played = play(open(venue.clone()), clause);
                report.note(venue.name(), venue.strategy(), played.is_ok());
                played
            });
        }
    }

    fn push(&mut self, name: String, run: impl FnOnce() -> Result<(), Failed> + Send + 'static) {
        let (report, trial) = (self.report.clone(), name.clone());
        self.trials.push(Trial::test(name, move || {
            let begun = Instant::now();
            let played = run();
            report.took(&trial, begun.elapsed());
            played
        }));
    }
}

/// One more than there are cores: a trial waits for its server half of the time, but locks in Redis are answered within half
/// a second, and trials of the clock need theirs, which twice as many trials do not leave to each other.
fn threads() -> usize {
    1 + thread::available_parallelism().map_or(1, NonZero::get)
}

async fn chosen(venue: &SeaOrmVenue) -> Result<Strategy, StoreError> {
    let url = venue.shared_database().await?;
    Ok(venue.open(&url, None).await?.strategy())
}

fn play<S: Send + 'static>(
    stage: BoxFuture<'static, Result<S, StoreError>>,
    clause: &Clause<S>,
) -> Result<(), Failed> {
    remember_panics();
    RUNTIME.block_on(async {
        let stage = stage.await.map_err(|e| Failed::from(format!("no stage could be set up: {e}")))?;
        let played = AssertUnwindSafe((clause.play)(stage)).catch_unwind();
        match tokio::time::timeout(STUCK, played).await {
            Ok(played) => played.map_err(failed),
            Err(_) => Err(format!("stuck for {STUCK:?}").into()),
        }
    })
}

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps what a panic of this thread says and where, so that it is told under the name of its trial.
fn remember_panics() {
    static HOOK: LazyLock<()> = LazyLock::new(|| {
        panic::set_hook(Box::new(|info| {
            LAST_PANIC.with(|last| *last.borrow_mut() = Some(info.to_string()));
        }));
    });
    *HOOK
}

fn failed(panic: Box<dyn Any + Send>) -> Failed {
    let told = LAST_PANIC.with(|last| last.borrow_mut().take());
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    told.or(text).unwrap_or_else(|| "a panic without words".to_owned()).into()
}
