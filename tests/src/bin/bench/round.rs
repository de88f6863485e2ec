use std::{
    collections::HashSet,
    fmt,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sea_orm::Database;

use crate::{
    Failure, Options, ceiling,
    contender::Contender,
    instance::{Job, Work},
    library, server,
};

/// What one round came to.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) rate: f64,
    pub(crate) deadlocks: u64,
    /// Messages that were handed out more than once.
    pub(crate) duplicates: usize,
    /// Acknowledgements that came too late.
    pub(crate) superseded: usize,
    /// Messages that nobody acknowledged in time.
    pub(crate) lost: usize,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>8.0}/s, deadlocks {}, duplicates {}, superseded {}, lost {}",
            self.rate, self.deadlocks, self.duplicates, self.superseded, self.lost
        )
    }
}

/// Fills the outbox, lets the instances drain it, and counts what was handed out and acknowledged.
pub(crate) async fn run(
    options: &Options,
    url: &str,
    contender: Contender,
    instances: usize,
) -> Result<Outcome, Failure> {
    match contender {
        Contender::Ceilxr => ceiling::fill(url, options).await?,
        _ => library::fill(url, contender, options).await?,
    }
    let db = Database::connect(url).await?;
    let before = server::deadlocks(&db).await?;
    let mut children = Vec::new();
    for number in 0..instances {
        children.push(Instance::start(&Job::new(url, contender, options, number, instances))?);
    }
    children.iter_mut().try_for_each(Instance::wait_until_ready)?;
    let began = unix_now();
    children.iter_mut().try_for_each(Instance::go)?;
    let work = children.into_iter().map(Instance::finish).collect::<Result<Vec<_>, _>>()?;
    let deadlocks = server::deadlocks(&db).await? - before;
    db.close().await?;
    Ok(Outcome::of(&work, options.backlog, began, deadlocks))
}

impl Outcome {
    fn of(work: &[Work], backlog: usize, began: Duration, deadlocks: u64) -> Self {
        let handed_out: Vec<u128> = work.iter().flat_map(|work| &work.handed_out).copied().collect();
        let distinct: HashSet<u128> = handed_out.iter().copied().collect();
        let acknowledged: HashSet<u128> = work.iter().flat_map(|work| &work.acknowledged).copied().collect();
        let ended = work.iter().map(|work| work.last).max().unwrap_or_default();
        Self {
            rate: acknowledged.len() as f64 / ended.saturating_sub(began).as_secs_f64(),
            deadlocks,
            duplicates: handed_out.len() - distinct.len(),
            superseded: work.iter().map(|work| work.superseded).sum(),
            lost: backlog - acknowledged.len(),
        }
    }
}

/// Time on the clock that all processes of a machine share.
pub(crate) fn unix_now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// An instance in a process of its own.
struct Instance {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Instance {
    fn start(job: &Job) -> Result<Self, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--instance")
            .arg(serde_json::to_string(job)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let answers = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        Ok(Self { child, answers })
    }

    fn wait_until_ready(&mut self) -> Result<(), Failure> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.trim() == "ready" { Ok(()) } else { Err(format!("an instance did not start: {line}").into()) }
    }

    fn go(&mut self) -> Result<(), Failure> {
        Ok(self.child.stdin.as_mut().ok_or("no standard input")?.write_all(b"go\n")?)
    }

    /// What it did.
    fn finish(mut self) -> Result<Work, Failure> {
        let mut answer = Vec::new();
        self.answers.read_to_end(&mut answer)?;
        if !self.child.wait()?.success() {
            return Err("an instance failed".into());
        }
        Ok(serde_json::from_slice(&answer)?)
    }
}
