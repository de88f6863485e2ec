//! The same tables with runners that are processes of their own and are killed with `kill -9` at each point.

use std::{
    fmt,
    iter::Sum,
    ops::Range,
    os::unix::process::ExitStatusExt,
    process::{Command, ExitCode, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream_domain::{RetryPolicy, Timestamp};
use claimstream_ports::StoreError;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, Strategy, StrategyChoice};
use claimstream_steps::saga::{Saga, SagaConfig, SagaHome, SagaId, SagaState};
use futures::future::{join_all, try_join_all};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    bank::{Bank, fresh_saga},
    crash::Crash,
    notice::is_notified,
    payment::{self as payments, Payment},
    transfer::{self as transfers, Transfer},
    urls::Urls,
};
use crate::{Clock, Suite, suite::RUNTIME};

/// Where a process that was started to run a saga finds out which.
const JOB: &str = "CLAIMSTREAM_SAGA_JOB";

/// What a process is started for: to begin a saga or to deliver its check, and to be killed at a point of it.
#[derive(Serialize, Deserialize)]
struct Job {
    urls: Vec<String>,
    prefix: String,
    saga: SagaId,
    input: Input,
    checks: bool,
    point: usize,
}

#[derive(Serialize, Deserialize, Clone)]
enum Input {
    Transfer(Transfer),
    Payment(Payment),
}

/// How long a claim outlives its process, which is what a test waits for most of the time. A process that takes longer
/// loses nothing by it, because no other process claims before it has ended.
const LEASE: Duration = Duration::from_millis(100);
const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs a saga if this process was started for that.
pub fn run_job() -> Option<ExitCode> {
    let job = std::env::var(JOB).ok()?;
    let job: Job = serde_json::from_str(&job).expect("a job");
    RUNTIME.block_on(async {
        let bank = open(&job.urls).await.expect("databases").shared_as(&job.prefix, LEASE);
        let crash = Crash::at(job.point).with_the_process();
        match job.input {
            Input::Transfer(input) => {
                let saga = transfers::saga_as(&bank, &crash, config());
                run(&bank, &saga, job.saga, input, job.checks).await;
            }
            Input::Payment(input) => {
                let saga = payments::saga_as(&bank, &crash, config());
                run(&bank, &saga, job.saga, input, job.checks).await;
            }
        }
    });
    Some(ExitCode::SUCCESS)
}

async fn run<I, H>(bank: &Bank<SeaOrmOutbox>, saga: &Saga<I, H>, id: SagaId, input: I, checks: bool)
where
    I: Serialize + DeserializeOwned + Send + Sync + 'static,
    H: SagaHome + 'static,
{
    match checks {
        true => drop(bank.deliver(saga).await),
        false => drop(saga.start(id, "anna", input).await.expect("an outcome")),
    }
}

/// Where the runner that brings the check is killed, after the one that began the saga.
#[derive(Clone, Copy)]
pub(super) enum Second {
    /// At one point for each of the first, or nowhere.
    Somewhere,
    /// At each point in turn, and in the end nowhere: every pair.
    Everywhere,
}

/// How many lanes kill and check at the same time where every pair is run, each with sagas and a queue of its own.
const LANES: usize = 4;

impl Second {
    fn points(self, first: usize) -> Range<usize> {
        match self {
            // Not every check has that many points left; one that has fewer comes to its end.
            Self::Somewhere => first % 7..first % 7 + 1,
            Self::Everywhere => 0..usize::MAX,
        }
    }

    /// On SQLite, where one writes at a time, lanes would wait for each other.
    fn lanes(self) -> usize {
        match self {
            Self::Somewhere => 1,
            Self::Everywhere => LANES,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Somewhere => "every_crash_point",
            Self::Everywhere => "every_pair_of_crash_points",
        }
    }
}

pub(super) fn add_to(suite: &mut Suite, backend: &str, urls: &Urls, second: Second) {
    let of = |saga: &str, way: &str| format!("{backend}::sagas::{saga}_kill_9_at_{}{way}", second.name());
    let (one, two, three) = (urls.clone(), urls.clone(), urls.clone());
    suite.add_long("kills", &of("s4a", ""), move || RUNTIME.block_on(transfers_end(one, second)));
    suite.add_long("kills", &of("s4b", "_of_the_way_forward"), move || {
        let end = (payments::FINISHED, payments::PAID);
        RUNTIME.block_on(payments_end(two, second, payments::UNPAID, end));
    });
    suite.add_long("kills", &of("s4b", "_of_the_way_back"), move || {
        let end = (payments::FAILED, payments::SHORT);
        RUNTIME.block_on(payments_end(three, second, payments::SHORT, end));
    });
}

async fn transfers_end(made: Urls, second: Second) {
    let points = transfers::points(&Setup::of(made.clone()).await.bank).await;
    let lanes = lanes(&points, second).map(|points| transfers_of_a_lane(made.clone(), points, second));
    let kills: Kills = join_all(lanes).await.into_iter().sum();
    println!("transfers: {} points, {kills}", points.len());
}

async fn transfers_of_a_lane(made: Urls, points: Vec<Point>, second: Second) -> Kills {
    let setup = Setup::of(made).await;
    let bank = &setup.bank;
    let mut kills = Kills::default();
    for (number, point) in points {
        for second in second.points(number) {
            let wanted = transfers::transfer(bank, transfers::AMOUNT).await;
            let (id, again) =
                setup.kill_twice(&Input::Transfer(wanted.clone()), (number, second), &point).await;
            let saga = transfers::saga_as(bank, &Crash::never(), config());
            let state = setup.settle(&saga, id).await;
            let ended = (state, transfers::balances(bank, &wanted).await);
            assert_eq!(ended, transfers::expected(&point), "after kill -9 {point}, then at {second}");
            if !kills.go_on(again) {
                break;
            }
        }
    }
    kills
}

async fn payments_end(made: Urls, second: Second, start: [i64; 4], end: (payments::Rows, [i64; 4])) {
    let points = payments::points(&Setup::of(made.clone()).await.bank, start[1]).await;
    let lanes =
        lanes(&points, second).map(|points| payments_of_a_lane(made.clone(), points, second, start, end));
    let kills: Kills = join_all(lanes).await.into_iter().sum();
    println!("payments: {} points, {kills}", points.len());
}

async fn payments_of_a_lane(
    made: Urls,
    points: Vec<Point>,
    second: Second,
    start: [i64; 4],
    end: (payments::Rows, [i64; 4]),
) -> Kills {
    let setup = Setup::of(made).await;
    let bank = &setup.bank;
    let mut kills = Kills::default();
    for (number, point) in points {
        for second in second.points(number) {
            let paid = payments::payment(bank, start[0], start[1]).await;
            let (id, again) = setup.kill_twice(&Input::Payment(paid.clone()), (number, second), &point).await;
            let saga = payments::saga_as(bank, &Crash::never(), config());
            setup.settle(&saga, id).await;
            let ended = (payments::rows(bank, &saga, id).await, payments::balances(bank, &paid).await);
            let what = format!("after kill -9 {point}, then at {second}");
            assert_eq!(ended, payments::expected(&point, end, start), "{what}");
            assert_eq!(is_notified(bank, id).await, ended.0.0 == Some(SagaState::Fail), "{what}");
            if !kills.go_on(again) {
                break;
            }
        }
    }
    kills
}

/// A point of the first runner, with its number.
type Point = (usize, String);

/// The points of each lane, dealt out in turn, because the first points have the most after them.
fn lanes(points: &[String], second: Second) -> impl Iterator<Item = Vec<Point>> {
    let lanes = second.lanes();
    (0..lanes).map(move |lane| points.iter().cloned().enumerate().skip(lane).step_by(lanes).collect())
}

/// How many sagas were killed once, and how many twice.
#[derive(Default)]
struct Kills {
    once: usize,
    twice: usize,
}

impl Kills {
    /// Counts one; whether the second was killed too, so that there may be points behind that.
    fn go_on(&mut self, again: bool) -> bool {
        *(if again { &mut self.twice } else { &mut self.once }) += 1;
        again
    }
}

impl Sum for Kills {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self { once: sum.once + one.once, twice: sum.twice + one.twice })
    }
}

impl fmt::Display for Kills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "killed once {}, and in the check as well {}", self.once, self.twice)
    }
}

/// Databases that several processes share, on the database's own clock.
struct Setup {
    urls: Vec<String>,
    bank: Bank<SeaOrmOutbox>,
    /// The databases are there as long as this is.
    _made: Urls,
}

impl Setup {
    async fn of(made: Urls) -> Self {
        let urls = made.get().await.expect("databases");
        let bank = open(&urls).await.expect("databases");
        let prefix = bank.prefix().to_owned();
        Self { urls, bank: bank.shared_as(&prefix, LEASE), _made: made }
    }

    /// Lets one process begin a saga and be killed at the first point, and another deliver the check and be killed at the
    /// second, if it gets there; whether it was.
    async fn kill_twice(&self, input: &Input, (first, second): (usize, usize), name: &str) -> (SagaId, bool) {
        let saga = fresh_saga();
        let job = |checks, point| Job {
            urls: self.urls.clone(),
            prefix: self.bank.prefix().to_owned(),
            saga,
            input: input.clone(),
            checks,
            point,
        };
        let killed = run_process(&job(false, first)).await;
        assert!(killed, "the process was not killed {name}");
        (saga, run_process(&job(true, second)).await)
    }

    /// Delivers until the saga is over and no message of it is left; where it stands then.
    async fn settle<I, H>(&self, saga: &Saga<I, H>, id: SagaId) -> Option<SagaState>
    where
        I: Serialize + DeserializeOwned + Send + Sync + 'static,
        H: SagaHome + 'static,
    {
        let begun = Instant::now();
        loop {
            self.bank.deliver(saga).await;
            let state = self.bank.state(&saga.queue(), id).await;
            if state.is_none_or(SagaState::is_over) {
                return state;
            }
            assert!(begun.elapsed() < TIMEOUT, "the saga is still {state:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Whether it was killed; otherwise it must have ended well.
async fn run_process(job: &Job) -> bool {
    let job = serde_json::to_string(job).expect("a job");
    let started = Command::new(std::env::current_exe().expect("this program"))
        .env(JOB, job)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let mut child = started.expect("a process");
    let status = tokio::task::spawn_blocking(move || child.wait()).await.expect("a wait").expect("a status");
    assert!(status.success() || status.signal() == Some(9), "a process ended with {status}");
    status.signal() == Some(9)
}

async fn open(urls: &[String]) -> Result<Bank<SeaOrmOutbox>, StoreError> {
    let options = || OpenOptions {
        strategy: StrategyChoice::Exactly(Strategy::PreemptiveUpdate),
        max_connections: 3,
        ..OpenOptions::default()
    };
    let databases = try_join_all(urls.iter().map(|url| SeaOrmOutbox::open(url, options()))).await?;
    Ok(Bank::new(databases, Arc::new(WallClock)))
}

/// The check is due at once, because no relay delivers it during a begin.
fn config() -> SagaConfig {
    let base = Duration::from_millis(20);
    let retry = RetryPolicy { base, cap: base, ..RetryPolicy::default() };
    SagaConfig { check_after: Duration::ZERO, retry, ..SagaConfig::default() }
}

/// Time as it passes by itself.
struct WallClock;

#[async_trait::async_trait]
impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp::MAX
    }

    async fn advance(&self, _: Duration) {}
}
