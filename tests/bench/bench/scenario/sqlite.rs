use std::{
    collections::BTreeMap,
    path::PathBuf,
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::{
    ConnectionTrait, Statement,
    sqlx::{Connection, Executor, Row, SqliteConnection},
};

use super::{Plan, Setting, drains::sized, steady};
use crate::{
    Failure, backlog,
    cell::Cell,
    child::Child,
    contender::{Contender, Own},
    drain::{Crew, count, figure},
    handwritten::Sqlite,
    job::{Job, Produced},
    library,
    options::Options,
    record::{Counts, Round},
    server::{About, Status},
};

/// The name under which it is asked for, as if it were a server.
pub(crate) const NAME: &str = "sqlite";

const AT_MOST: u64 = 120;
/// Enqueueing lasts so many seconds.
const SECONDS: u64 = 3;
/// A file has one writer at a time; a steady load that leaves it no pause shows nothing but that.
const RATE: f64 = 1000.0;
const PER_TRANSACTION: u64 = 10;

/// What is measured on a file.
#[derive(Clone, Debug)]
pub(crate) enum OnFile {
    /// An instance empties a backlog.
    Drain(Job),
    /// A producer and an instance, each a process.
    Steady(Job),
    /// The highest rate at which the instance keeps up with the producer.
    Highest(Job),
    /// A producer alone.
    Enqueue(Job),
}

/// The version of SQLite, and what the files are opened with.
pub(crate) async fn about() -> Result<About, Failure> {
    let mut connection = SqliteConnection::connect("sqlite::memory:").await?;
    let version = connection.fetch_one("SELECT sqlite_version()").await?.try_get(0)?;
    let settings = [("journal_mode", "WAL"), ("synchronous", "FULL")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(About { name: NAME.into(), version, settings: BTreeMap::from(settings) })
}

/// The groups of a scenario on a file, for the library and a queue by hand; refuses what is only measured on servers.
pub(crate) fn groups(
    name: &str,
    options: &Options,
    contenders: &[Contender],
) -> Result<Vec<Vec<Cell>>, Failure> {
    let setting = Setting { options, contenders, url: "" };
    let all = || setting.named(&["handwritten", "preemptive_update", "shard_lease"]);
    match name {
        "drain" => {
            let cell = |one: &Contender| {
                let job = Job { seconds: AT_MOST, ..setting.job(one, 1) };
                sized(Cell::new("drain", one, 1, Plan::Sqlite(OnFile::Drain(job.clone()))), &job)
            };
            Ok(vec![all().map(cell).collect()])
        }
        "steady" => {
            let job = |one: &Contender, seconds| {
                let (rate, per_transaction) = (options.rate.min(RATE), PER_TRANSACTION);
                Job { backlog: 0, seconds, rate, per_transaction, ..setting.job(one, 1) }
            };
            let steady = |one: &Contender| {
                let job = job(one, options.seconds);
                let cell = Cell::new("steady", one, 1, Plan::Sqlite(OnFile::Steady(job.clone())));
                steady::sized(cell, &job).with("rate", job.rate).with("seconds", job.seconds)
            };
            let highest = |one: &Contender| {
                let job = job(one, steady::RUN_SECONDS);
                let plan = Plan::Sqlite(OnFile::Highest(job.clone()));
                steady::sized(Cell::new("highest_rate", one, 1, plan), &job)
            };
            Ok(vec![all().map(steady).collect(), all().map(highest).collect()])
        }
        "enqueue" => {
            let group = |per_transaction: u64| {
                let cell = |one: &Contender| {
                    let (producers, seconds) = (1, SECONDS);
                    let job = Job { backlog: 0, producers, per_transaction, seconds, ..setting.job(one, 0) };
                    let cell = Cell::new("enqueue", one, 0, Plan::Sqlite(OnFile::Enqueue(job)));
                    cell.with("producers", producers)
                        .with("per_transaction", per_transaction)
                        .with("payload", options.payload)
                };
                setting.named(&["handwritten", "preemptive_update"]).map(cell).collect()
            };
            Ok([1, 10, 100].map(group).into())
        }
        other => Err(format!("{other} is not measured on SQLite; use drain, steady or enqueue").into()),
    }
}

/// One round, each test on a file of its own.
pub(super) async fn round(contender: &Contender, what: &OnFile) -> Result<Round, Failure> {
    let mut round = match what {
        OnFile::Drain(job) => drain(contender, job).await?,
        OnFile::Steady(job) => steadily(contender, job).await?,
        OnFile::Highest(job) => {
            steady::search(contender, job, async |job| steadily(contender, job).await).await?
        }
        OnFile::Enqueue(job) => enqueue(contender, job).await?,
    };
    // There is no server that counts.
    for name in ["server_cpu_ms_per_1000", "statements_per_message", "redo_bytes_per_message"] {
        round.figures.remove(name);
    }
    Ok(round)
}

async fn drain(contender: &Contender, job: &Job) -> Result<Round, Failure> {
    let file = File::new();
    let job = &Job { url: file.url(), ..job.clone() };
    let mut queue = Queue::open(contender, job).await?;
    queue.fill(job).await?;
    let mut crew = Crew::start(contender, job).await?;
    let began = crew.go().await?;
    let work = crew.finish(Duration::from_secs(job.seconds + 60)).await?;
    let mut round = Round { counts: count(&work), ..Round::default() };
    round.counts.not_drained = queue.remaining().await?;
    round.counts.lost = job.backlog.abs_diff(round.counts.acknowledged + round.counts.not_drained);
    figure(&mut round, &work, began, Status::default());
    Ok(round)
}

async fn steadily(contender: &Contender, job: &Job) -> Result<Round, Failure> {
    let file = File::new();
    let job = &Job { url: file.url(), ..job.clone() };
    let mut queue = Queue::open(contender, job).await?;
    let stays = Job { stay: true, seconds: job.seconds + 60, ..job.clone() };
    let mut crew = Crew::start(contender, &stays).await?;
    let producers = steady::Producers::start(contender, job, 1, 1).await?;
    let began = crew.go().await?;
    let produced = producers.run(Duration::from_secs(job.seconds + 60)).await?;
    let behind = queue.remaining().await?;
    for _ in 0..200 {
        if queue.remaining().await? == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    crew.go().await?;
    let work = crew.finish(Duration::from_secs(60)).await?;
    let mut round = Round { counts: count(&work), ..Round::default() };
    round.counts.not_drained = queue.remaining().await?;
    round.counts.lost = produced.count.abs_diff(round.counts.acknowledged + round.counts.not_drained);
    round.counts.errors += produced.errors.len() as u64;
    figure(&mut round, &work, began, Status::default());
    round.set("growth_per_second", behind as f64 / produced.seconds);
    round.set("enqueued_per_second", produced.count as f64 / produced.seconds);
    round.set("producer_cpu_ms_per_1000", 1e6 * produced.cpu_seconds / produced.count as f64);
    round.set_some("insert_p50_ms", produced.transactions.percentile(0.5));
    round.set_some("insert_p99_ms", produced.transactions.percentile(0.99));
    Ok(round)
}

async fn enqueue(contender: &Contender, job: &Job) -> Result<Round, Failure> {
    let file = File::new();
    let job = &Job { url: file.url(), ..job.clone() };
    let mut queue = Queue::open(contender, job).await?;
    let answer = Child::run(contender, "enqueue", job, Duration::from_secs(job.seconds + 60)).await?;
    let produced: Produced = serde_json::from_str(&answer)?;
    let there = queue.remaining().await?;
    let counts = Counts {
        lost: produced.count.saturating_sub(there),
        doubled: there.saturating_sub(produced.count),
        errors: produced.errors.len() as u64,
        ..Counts::default()
    };
    let mut round = Round { counts, ..Round::default() };
    round.set("rate", produced.count as f64 / produced.seconds);
    round.set_some("insert_p50_ms", produced.transactions.percentile(0.5));
    round.set_some("insert_p99_ms", produced.transactions.percentile(0.99));
    round.set("producer_cpu_ms_per_1000", 1e6 * produced.cpu_seconds / produced.count as f64);
    Ok(round)
}

/// A contender's queue as the bench sees it.
enum Queue {
    Library(SeaOrmOutbox),
    ByHand(Sqlite),
}

impl Queue {
    async fn open(contender: &Contender, job: &Job) -> Result<Self, Failure> {
        let own = Own::named(contender.name())?;
        Ok(match own.is_library() {
            true => Self::Library(library::open(&job.url, own, 5).await?),
            false => Self::ByHand(Sqlite::open(job).await?),
        })
    }

    async fn fill(&mut self, job: &Job) -> Result<(), Failure> {
        const CHUNK: u64 = 500;
        match self {
            Self::Library(outbox) => backlog::enqueue(outbox, 0, job).await?,
            Self::ByHand(queue) => {
                for first in (0..job.backlog).step_by(CHUNK as usize) {
                    queue.insert(first..job.backlog.min(first + CHUNK), 0, job.payload).await?;
                }
            }
        }
        Ok(())
    }

    async fn remaining(&mut self) -> Result<u64, Failure> {
        match self {
            Self::ByHand(queue) => queue.remaining().await,
            Self::Library(outbox) => {
                let db = outbox.connection();
                let count = "SELECT COUNT(*) FROM claimstream_queue";
                let row = db.query_one_raw(Statement::from_string(db.get_database_backend(), count)).await?;
                let row = row.ok_or("COUNT answers a row")?;
                Ok(row.try_get_by_index::<i64>(0)? as u64)
            }
        }
    }
}

/// A file that is gone when this value is.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("claimstream-bench-{}-{number}.db", process::id())))
    }

    fn url(&self) -> String {
        format!("sqlite://{}", self.0.display())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", self.0.display()));
        }
    }
}
