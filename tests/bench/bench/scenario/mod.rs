//! What is measured: each scenario is a list of groups, and the cells of a group are measured together.

mod drains;
mod enqueue;
mod idle;
mod memory;
mod near_empty;
mod network;
mod notifications;
mod order;
mod payloads;
mod proxy;
mod queues;
mod retention;
pub(crate) mod sqlite;
mod statements;
mod steady;

use std::time::Duration;

pub(crate) use self::statements::Steps;
use crate::{
    Failure, backlog::Backlog, cell::Cell, contender::Contender, drain::Drain, job::Job, library,
    options::Options, record::Round,
};

/// All scenarios, in the order of the report.
pub(crate) const ALL: [&str; 16] = [
    "drain",
    "backlog",
    "steady",
    "retention",
    "snapshot",
    "near_empty",
    "idle",
    "single",
    "network",
    "enqueue",
    "memory",
    "statements",
    "notifications",
    "order",
    "payloads",
    "queues",
];

/// What a round of a cell consists of.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// Instances empty a backlog.
    Drain { job: Job, to_the_end: bool, under_snapshot: bool },
    /// The same through a network with this delay there and back.
    DrainFarAway { job: Job, delay: Duration },
    /// Producers at a rate, and instances that keep up or do not.
    Steady(Job),
    /// The same, with instances that sweep or do not.
    Retention(Job),
    /// The highest rate that instances keep up with.
    Highest(Job),
    /// Producers, and consumers that have little to do or nothing.
    NearEmpty(Job),
    /// Instances that have nothing to do.
    Idle(Job),
    /// A message enqueued in the process of an idle instance.
    Wake(Job),
    /// Producers alone, as fast as they can.
    Enqueue(Job),
    /// The statements of a batch, one after another.
    Statements(Job),
    /// All messages of a backlog in one process's hands.
    Memory(Job),
    /// Requests that relays turn into deliveries.
    Notifications(Job),
    /// Something on a file of SQLite.
    Sqlite(sqlite::OnFile),
}

/// The groups of a scenario; refuses one that there is not.
pub(crate) fn groups(
    name: &str,
    options: &Options,
    contenders: &[Contender],
    url: &str,
) -> Result<Vec<Vec<Cell>>, Failure> {
    let setting = Setting { options, contenders, url };
    match name {
        "drain" => Ok(drains::drain(&setting)),
        "backlog" => Ok(drains::backlog(&setting)),
        "snapshot" => Ok(drains::snapshot(&setting)),
        "single" => Ok(drains::single(&setting)),
        "network" => Ok(network::groups(&setting)),
        "steady" => Ok(steady::groups(&setting)),
        "retention" => Ok(retention::groups(&setting)),
        "near_empty" => Ok(near_empty::groups(&setting)),
        "idle" => Ok(idle::groups(&setting)),
        "enqueue" => Ok(enqueue::groups(&setting)),
        "statements" => Ok(statements::groups(&setting)),
        "memory" => Ok(memory::groups(&setting)),
        "notifications" => Ok(notifications::groups(&setting)),
        "order" => Ok(order::groups(&setting)),
        "payloads" => Ok(payloads::groups(&setting)),
        "queues" => Ok(queues::groups(&setting)),
        other => Err(format!("there is no scenario {other}; use {}", ALL.join(", ")).into()),
    }
}

/// What all cells of a run have in common.
struct Setting<'a> {
    options: &'a Options,
    contenders: &'a [Contender],
    url: &'a str,
}

impl Setting<'_> {
    /// A job of this run.
    fn job(&self, contender: &Contender, instances: u64) -> Job {
        Job {
            url: self.url.to_owned(),
            contender: contender.name().to_owned(),
            backlog: self.options.backlog,
            batch: self.options.batch,
            payload: self.options.payload,
            instances,
            seconds: self.options.limit,
            keys: if contender.is_keyed() { library::KEYS } else { 0 },
            ..Job::default()
        }
    }

    /// The strategies of the library that take part, one message at a time.
    fn library(&self) -> impl Iterator<Item = &Contender> {
        let in_batches = |one: &Contender| matches!(one, Contender::Own(own) if own.is_in_batches());
        self.contenders.iter().filter(move |one| one.is_library() && !in_batches(one))
    }

    /// Those of this binary whose names these are.
    fn named(&self, names: &'static [&'static str]) -> impl Iterator<Item = &Contender> {
        self.contenders.iter().filter(move |one| one.peer().is_none() && names.contains(&one.name()))
    }
}

/// Runs one round.
pub(crate) async fn measure(cell: &Cell, backlog: &mut Backlog, url: &str) -> Result<Round, Failure> {
    let contender = &cell.contender;
    match &cell.plan {
        Plan::Drain { job, to_the_end, under_snapshot } => {
            let (job, to_the_end, under_snapshot) = (job.clone(), *to_the_end, *under_snapshot);
            Drain { contender, job, to_the_end, under_snapshot }.run(backlog, url).await
        }
        Plan::DrainFarAway { job, delay } => network::round(contender, job, *delay, backlog, url).await,
        Plan::Steady(job) => steady::round(contender, job, backlog).await,
        Plan::Retention(job) => retention::round(contender, job, backlog).await,
        Plan::Highest(job) => steady::highest(contender, job, backlog).await,
        Plan::NearEmpty(job) => near_empty::round(contender, job, backlog).await,
        Plan::Idle(job) => idle::round(contender, job, backlog).await,
        Plan::Wake(job) => idle::wake(contender, job, backlog).await,
        Plan::Enqueue(job) => enqueue::round(contender, job, backlog).await,
        Plan::Statements(job) => statements::round(contender, job, backlog).await,
        Plan::Memory(job) => memory::round(contender, job, backlog).await,
        Plan::Sqlite(what) => sqlite::round(contender, what).await,
        Plan::Notifications(job) => notifications::round(contender, job, backlog).await,
    }
}
