//! Contenders without a library: loops of SQL on tables of their own.

mod bound;
mod clustered;
mod design;
mod s0;
mod s1;
mod sqlite;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use claimstream_testbed::ServerProcess;
pub(crate) use design::Design;
use sea_orm::sqlx::{Connection, Executor, MySqlConnection, mysql::MySqlConnectOptions};
pub(crate) use sqlite::Sqlite;

use crate::{
    Failure,
    contender::Own,
    job::{Job, Work, unix_now},
    parent,
    scenario::Steps,
};

/// The tables of a contender.
pub(crate) fn design(own: Own) -> Result<Design, Failure> {
    match own {
        Own::Ceil => Ok(bound::CEIL),
        Own::Ceilxr => Ok(bound::CEILXR),
        Own::Handwritten => Ok(clustered::DESIGN),
        Own::S0 => Ok(s0::DESIGN),
        Own::S1 => Ok(s1::DESIGN),
        library => Err(format!("{} has the library's tables", library.name()).into()),
    }
}

/// An instance of a hand-written loop.
pub(crate) async fn work(job: &Job, own: Own) -> Result<Work, Failure> {
    if job.is_on_file() {
        return run(job, Sqlite::open(job).await?).await;
    }
    let connection = connect(&job.url).await?;
    match own {
        Own::Ceil => run(job, bound::Bound::new(connection, job, false)).await,
        Own::Ceilxr => run(job, bound::Bound::new(connection, job, true)).await,
        Own::Handwritten => run(job, clustered::Clustered::new(connection, job)).await,
        Own::S0 => run(job, s0::S0::new(connection, job)).await,
        Own::S1 => run(job, s1::S1::new(connection, job)).await,
        library => Err(format!("{} is not hand-written", library.name()).into()),
    }
}

/// How long claims and acknowledgements of a hand-written loop take, one after another, without other load.
pub(crate) async fn steps(job: &Job, own: Own) -> Result<Steps, Failure> {
    let connection = connect(&job.url).await?;
    match own {
        Own::Ceilxr => timed(bound::Bound::new(connection, job, true)).await,
        Own::Handwritten => timed(clustered::Clustered::new(connection, job)).await,
        other => Err(format!("the steps of {} are not measured", other.name()).into()),
    }
}

async fn timed(mut claimer: impl Claimer) -> Result<Steps, Failure> {
    let mut steps = Steps::default();
    loop {
        match steps.time("take_and_read", claimer.claim()).await? {
            Claimed::Some(_) => {}
            Claimed::Nothing => continue,
            Claimed::Drained => return Ok(steps),
        }
        steps.time("end", claimer.acknowledge()).await?;
    }
}

/// A loop of claims and acknowledgements on one connection.
trait Claimer {
    /// The numbers of the messages of the next claim, or that there is nothing left.
    async fn claim(&mut self) -> Result<Claimed, Failure>;
    /// When the messages of the last claim were sent, in microseconds since 1970, where that is measured.
    fn sent(&self) -> &[u64] {
        &[]
    }
    /// Acknowledges the last claim, and says how many of its messages were still its own.
    async fn acknowledge(&mut self) -> Result<u64, Failure>;
}

enum Claimed {
    Some(Vec<u64>),
    /// Nothing this time.
    Nothing,
    /// Nothing is left.
    Drained,
}

/// How long a loop that stays waits when it has found nothing; the library begins with the same.
const IDLE: Duration = Duration::from_millis(20);

async fn run(job: &Job, mut claimer: impl Claimer) -> Result<Work, Failure> {
    parent::wait_for_go()?;
    let (went, cpu) = (unix_now(), ServerProcess::own().cpu_seconds());
    let mut work = Work { last: went, ..Work::default() };
    let stopped = Arc::new(AtomicBool::new(!job.stay));
    if job.stay {
        let stopped = stopped.clone();
        tokio::spawn(async move {
            parent::stop().await;
            stopped.store(true, Ordering::Relaxed);
        });
    }
    while unix_now() - went < job.seconds as f64 {
        let numbers = match retried(async || claimer.claim().await).await? {
            Claimed::Some(numbers) => numbers,
            Claimed::Nothing => continue,
            Claimed::Drained if stopped.load(Ordering::Relaxed) => break,
            Claimed::Drained => {
                tokio::time::sleep(IDLE).await;
                continue;
            }
        };
        claimer.sent().iter().for_each(|sent| work.handed(*sent));
        work.handed_out.extend(&numbers);
        let accepted = retried(async || claimer.acknowledge().await).await?;
        match accepted == numbers.len() as u64 {
            true => work.accept_all(numbers, went),
            false => work.superseded += numbers.len() as u64 - accepted,
        }
    }
    work.cpu_seconds = ServerProcess::own().cpu_seconds() - cpu;
    Ok(work)
}

/// Tries again after a deadlock, a lock wait that took too long, or a change under a snapshot.
async fn retried<T>(mut what: impl AsyncFnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    loop {
        match what().await {
            Err(error) if ["1213", "1205", "1020"].iter().any(|code| error.to_string().contains(code)) => {}
            done => return done,
        }
    }
}

/// A connection as the library has them: READ COMMITTED, and every statement prepared once.
pub(crate) async fn connect(url: &str) -> Result<MySqlConnection, Failure> {
    let options: MySqlConnectOptions = url.parse()?;
    let mut connection = MySqlConnection::connect_with(&options.statement_cache_capacity(512)).await?;
    connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
    Ok(connection)
}

/// As many marks as there are values, for a list.
fn marks(count: usize) -> String {
    vec!["?"; count].join(", ")
}
