use std::{
    collections::HashSet,
    fmt,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sea_orm::Database;

use crate::{Failure, Options, ceiling, contender::Contender, instance::Job, library, server};

/// What one round came to.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) rate: f64,
    pub(crate) deadlocks: u64,
    pub(crate) duplicates: usize,
    pub(crate) lost: usize,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>8.0}/s, deadlocks {}, duplicates {}, lost {}",
            self.rate, self.deadlocks, self.duplicates, self.lost
        )
    }
}

/// Fills the outbox, lets the instances drain it, and counts what they handled.
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
    let mut handled = Vec::new();
    let mut ended = Duration::ZERO;
    for child in children {
        let (last, ids) = child.finish()?;
        ended = ended.max(last);
        handled.extend(ids);
    }
    let deadlocks = server::deadlocks(&db).await? - before;
    db.close().await?;
    let distinct: HashSet<u128> = handled.iter().copied().collect();
    Ok(Outcome {
        rate: distinct.len() as f64 / ended.saturating_sub(began).as_secs_f64(),
        deadlocks,
        duplicates: handled.len() - distinct.len(),
        lost: options.backlog - distinct.len(),
    })
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

    /// When its last acknowledgement came, and what it handled, in order.
    fn finish(mut self) -> Result<(Duration, Vec<u128>), Failure> {
        let mut answer = Vec::new();
        self.answers.read_to_end(&mut answer)?;
        if !self.child.wait()?.success() {
            return Err("an instance failed".into());
        }
        let mut numbers =
            answer.chunks_exact(16).map(|bytes| u128::from_be_bytes(bytes.try_into().unwrap_or_default()));
        let last = numbers.next().ok_or("an instance said nothing")?;
        Ok((Duration::from_micros(last as u64), numbers.collect()))
    }
}
