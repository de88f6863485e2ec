use std::{collections::HashSet, time::Duration};

use claimstream_testbed::ServerProcess;
use sea_orm::sqlx::{Connection, Executor, MySqlConnection};

use crate::{
    Failure,
    backlog::Backlog,
    child::Child,
    contender::Contender,
    cpu::Cpu,
    handwritten,
    job::{Job, PACE, Work, unix_now},
    latencies::Latencies,
    record::{Counts, Round},
    server::Status,
};

/// One round of draining: the contender's instances empty a backlog.
pub(crate) struct Drain<'a> {
    pub(crate) contender: &'a Contender,
    /// For the instances; the number is each one's own.
    pub(crate) job: Job,
    /// What is left in the end counts as lost.
    pub(crate) to_the_end: bool,
    /// Another session keeps a snapshot of the database open meanwhile.
    pub(crate) under_snapshot: bool,
}

impl Drain<'_> {
    /// Fills the tables, lets the instances drain them, and counts what was handed out and acknowledged.
    pub(crate) async fn run(&self, backlog: &mut Backlog, direct: &str) -> Result<Round, Failure> {
        backlog.fill(self.contender, &Job { url: direct.to_owned(), ..self.job.clone() }).await?;
        let mut connection = handwritten::connect(direct).await?;
        let _open = if self.under_snapshot { Some(snapshot(direct).await?) } else { None };
        let mut crew = Crew::start(self.contender, &self.job).await?;
        let before = Status::of(&mut connection).await?;
        let cpu = Cpu::watch(ServerProcess::of(&mut connection).await?);
        let began = crew.go().await?;
        let work = crew.finish(Duration::from_secs(self.job.seconds + 60)).await?;
        let mut status = Status::of(&mut connection).await?.since(before);
        // Looking for more where nothing is left is not the price of a message.
        let all = status.cpu;
        status.cpu = cpu.between(began, ended(&work, began));
        let mut round = Round { counts: count(&work), ..Round::default() };
        let counts = &mut round.counts;
        counts.deadlocks = status.deadlocks as u64;
        if let Some(left) = backlog.remaining(self.contender).await? {
            counts.not_drained = left;
            counts.lost = self.job.backlog.abs_diff(counts.acknowledged + left);
        } else {
            counts.not_drained = self.job.backlog.saturating_sub(counts.acknowledged);
        }
        if self.to_the_end {
            counts.lost += std::mem::take(&mut counts.not_drained);
        }
        figure(&mut round, &work, began, status);
        let after = (all - status.cpu).max(0.0);
        round.set("server_cpu_after_ms_per_1000", 1e6 * after / round.counts.acknowledged as f64);
        Ok(round)
    }
}

/// Instances, each a process of its own.
pub(crate) struct Crew(Vec<Child>);

impl Crew {
    /// Starts as many as the job says, and waits until all are ready.
    pub(crate) async fn start(contender: &Contender, job: &Job) -> Result<Self, Failure> {
        let mut crew = Vec::new();
        for number in 0..job.instances {
            crew.push(Child::start(contender, "instance", &Job { number, ..job.clone() })?);
        }
        futures::future::try_join_all(crew.iter_mut().map(Child::ready)).await?;
        Ok(Self(crew))
    }

    /// Tells all to go, or to stop, and says when that was.
    pub(crate) async fn go(&mut self) -> Result<f64, Failure> {
        let now = unix_now();
        for child in &mut self.0 {
            child.go().await?;
        }
        Ok(now)
    }

    pub(crate) async fn finish(self, within: Duration) -> Result<Vec<Work>, Failure> {
        futures::future::try_join_all(self.0.into_iter().map(|child| child.finish(within))).await
    }
}

/// What was handed out and acknowledged, all instances together.
pub(crate) fn count(work: &[Work]) -> Counts {
    let handed_out = work.iter().map(|work| work.handed_out.len()).sum::<usize>() as u64;
    let accepted = work.iter().map(|work| work.acknowledged.len()).sum::<usize>() as u64;
    let distinct = |which: fn(&Work) -> &Vec<u64>| {
        work.iter().flat_map(|work| which(work).iter()).collect::<HashSet<_>>().len() as u64
    };
    let acknowledged = distinct(|work| &work.acknowledged);
    Counts {
        handed_out,
        acknowledged,
        duplicates: handed_out - distinct(|work| &work.handed_out),
        doubled: accepted - acknowledged,
        superseded: work.iter().map(|work| work.superseded).sum(),
        errors: work.iter().map(|work| work.errors.len() as u64).sum(),
        ..Counts::default()
    }
}

/// When the last acknowledgement was accepted.
fn ended(work: &[Work], began: f64) -> f64 {
    work.iter().map(|work| work.last).fold(began, f64::max)
}

/// The figures that every round with instances has.
pub(crate) fn figure(round: &mut Round, work: &[Work], began: f64, status: Status) {
    let acknowledged = round.counts.acknowledged as f64;
    let ended = ended(work, began);
    let client: f64 = work.iter().map(|work| work.cpu_seconds).sum();
    round.set("rate", if acknowledged > 0.0 { acknowledged / (ended - began) } else { 0.0 });
    round.set("seconds", ended - began);
    round.set("cores_busy", (client + status.cpu) / (ended - began));
    round.set("client_cpu_ms_per_1000", 1e6 * client / acknowledged);
    round.set("server_cpu_ms_per_1000", 1e6 * status.cpu / acknowledged);
    round.set("statements_per_message", status.statements / acknowledged);
    round.set("redo_bytes_per_message", status.redo / acknowledged);
    let bars = work.iter().map(|work| work.pace.len()).max().unwrap_or(0);
    let in_bar = |bar: usize| work.iter().filter_map(|work| work.pace.get(bar)).sum::<u64>() as f64;
    let point = |bar: usize| [(bar + 1) as f64 * PACE.as_secs_f64(), in_bar(bar) / PACE.as_secs_f64()];
    round.series.insert("rate_over_time".into(), (0..bars).map(point).collect());
    let mut latencies = Latencies::default();
    work.iter().for_each(|work| latencies.join(&work.latencies));
    if latencies.count() > 0 {
        round.set_some("latency_p50_ms", latencies.percentile(0.5));
        round.set_some("latency_p99_ms", latencies.percentile(0.99));
        round.set_some("latency_max_ms", latencies.percentile(1.0));
        round.series.insert("latency".into(), latencies.bars());
    }
    if let Some(error) = work.iter().flat_map(|work| &work.errors).next() {
        eprintln!("an error reached the consumer: {error}");
    }
}

/// A connection that keeps a snapshot of the database open until it is closed.
async fn snapshot(url: &str) -> Result<MySqlConnection, Failure> {
    let mut connection = MySqlConnection::connect(url).await?;
    connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
    connection.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT").await?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_handed_out_or_accepted_twice_is_counted() {
        let one = Work { handed_out: vec![1, 2, 3], acknowledged: vec![1, 2], ..Work::default() };
        let other =
            Work { handed_out: vec![3, 4], acknowledged: vec![2, 4], superseded: 1, ..Work::default() };
        let counts = count(&[one, other]);
        assert_eq!((counts.handed_out, counts.acknowledged), (5, 3));
        assert_eq!((counts.duplicates, counts.doubled, counts.superseded), (1, 1, 1));
    }
}
