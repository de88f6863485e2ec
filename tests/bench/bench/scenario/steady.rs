use std::time::{Duration, Instant};

use sea_orm::sqlx::MySqlConnection;

use super::{Plan, Setting};
use crate::{
    Failure,
    backlog::{self, Backlog},
    cell::Cell,
    child::Child,
    contender::Contender,
    drain::{Crew, count, figure},
    handwritten,
    job::{Job, Produced},
    record::Round,
    server::{self, Status},
};

const INSTANCES: u64 = 4;
/// Processes that produce, and how many transactions each may have open at a time.
pub(super) const PRODUCERS: u64 = 2;
pub(super) const AT_A_TIME: u64 = 8;
const PER_TRANSACTION: u64 = 10;
/// A rate is held as long as the backlog does not grow by more messages a second.
const GROWTH: f64 = 100.0;
/// Nor is a rate held if one message in a hundred waits for longer, in milliseconds.
const LAG: f64 = 500.0;
/// How long each rate is tried on the way to the highest.
pub(super) const RUN_SECONDS: u64 = 10;

/// Producers at one rate for a minute, alone and with each contender; then the highest rate that each contender holds.
pub(super) fn groups(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let steady = |one: &Contender| {
        let job = job(setting, one, setting.options.seconds);
        let cell = Cell::new("steady", one, INSTANCES, Plan::Steady(job.clone()));
        sized(cell, &job).with("rate", job.rate).with("seconds", job.seconds)
    };
    let highest = |one: &Contender| {
        let job = job(setting, one, RUN_SECONDS);
        sized(Cell::new("highest_rate", one, INSTANCES, Plan::Highest(job.clone())), &job)
    };
    let alone = |one: &Contender| {
        let job = Job { instances: 0, ..job(setting, one, setting.options.seconds) };
        let cell = Cell::new("steady", one, 0, Plan::Steady(job.clone())).called("producers alone");
        sized(cell, &job).with("rate", job.rate).with("seconds", job.seconds)
    };
    let all = || setting.named(&["handwritten"]).chain(setting.library());
    let alone = setting.library().take(1).map(alone);
    vec![alone.chain(all().map(steady)).collect(), all().map(highest).collect()]
}

/// Instances that run for so many seconds with producers at the rate that was asked for.
pub(super) fn job(setting: &Setting<'_>, contender: &Contender, seconds: u64) -> Job {
    Job {
        backlog: 0,
        seconds,
        rate: setting.options.rate,
        per_transaction: PER_TRANSACTION,
        ..setting.job(contender, INSTANCES)
    }
}

pub(super) fn sized(cell: Cell, job: &Job) -> Cell {
    cell.with("batch", job.batch).with("payload", job.payload).with("per_transaction", job.per_transaction)
}

/// Producers and instances together.
pub(super) async fn round(contender: &Contender, job: &Job, backlog: &mut Backlog) -> Result<Round, Failure> {
    backlog.fill(contender, job).await?;
    let mut connection = handwritten::connect(&job.url).await?;
    // They stay until the bench stops them; the time is for a bench that has ended itself.
    let mut crew =
        Crew::start(contender, &Job { stay: true, seconds: job.seconds + 60, ..job.clone() }).await?;
    let producers = Producers::start(contender, job, PRODUCERS, AT_A_TIME).await?;
    let before = Status::of(&mut connection).await?;
    let began = crew.go().await?;
    let producing = tokio::spawn(producers.run(Duration::from_secs(job.seconds + 30)));
    let watched = watch(&mut connection, contender, Duration::from_secs(job.seconds)).await?;
    let produced = producing.await??;
    if job.instances > 0 {
        wait_until_empty(&mut connection, contender).await?;
    }
    crew.go().await?;
    let work = crew.finish(Duration::from_secs(60)).await?;
    let status = Status::of(&mut connection).await?.since(before);

    let mut round = Round { counts: count(&work), ..Round::default() };
    round.counts.deadlocks = status.deadlocks as u64;
    round.counts.not_drained = depth(&mut connection, contender).await?;
    let accounted = round.counts.acknowledged + round.counts.not_drained;
    round.counts.lost = produced.count.abs_diff(accounted);
    round.counts.errors += produced.errors.len() as u64;
    match job.instances {
        0 => {
            round.set("server_cpu_ms_per_1000", 1e6 * status.cpu / produced.count as f64);
            round.set("statements_per_message", status.statements / produced.count as f64);
            round.counts.not_drained = 0;
        }
        _ => {
            figure(&mut round, &work, began, status);
            watched.tell(&mut round);
        }
    }
    round.set("enqueued_per_second", produced.count as f64 / produced.seconds);
    round.set("producer_cpu_ms_per_1000", 1e6 * produced.cpu_seconds / produced.count as f64);
    round.set_some("insert_p50_ms", produced.transactions.percentile(0.5));
    round.set_some("insert_p99_ms", produced.transactions.percentile(0.99));
    Ok(round)
}

/// The highest rate that the contender holds with its producers.
pub(super) async fn highest(
    contender: &Contender,
    job: &Job,
    backlog: &mut Backlog,
) -> Result<Round, Failure> {
    search(contender, job, async |job| round(contender, job, backlog).await).await
}

/// Doubles the rate until it is not held any more, and then halves the distance.
pub(super) async fn search(
    contender: &Contender,
    job: &Job,
    mut at: impl AsyncFnMut(&Job) -> Result<Round, Failure>,
) -> Result<Round, Failure> {
    let mut sum = Round::default();
    let mut tried = Vec::new();
    let (mut held, mut failed) = (0.0, None);
    let mut rate = job.rate;
    for _ in 0..10 {
        let test = at(&Job { rate, ..job.clone() }).await?;
        sum.counts.join(test.counts);
        let growth = test.figures.get("growth_per_second").copied().unwrap_or(f64::MAX);
        let enqueued = test.figures.get("enqueued_per_second").copied().unwrap_or(0.0);
        tried.push([rate, growth]);
        let lag = test.figures.get("latency_p99_ms").copied().unwrap_or(f64::MAX);
        eprintln!(
            "  {contender}: {rate:.0}/s, backlog grows by {growth:.0}/s, {enqueued:.0}/s enqueued, p99 {lag:.0} ms"
        );
        // Producers that cannot keep up prove nothing of the consumers.
        match growth < GROWTH && lag < LAG && enqueued > 0.97 * rate {
            true => (held, sum.figures) = (rate, test.figures),
            false => failed = Some(rate),
        }
        let Some(failed) = failed else {
            rate *= 2.0;
            continue;
        };
        if failed - held < job.rate / 4.0 || failed / held < 1.1 {
            break;
        }
        rate = (held + failed) / 2.0;
    }
    sum.set("highest_rate", held);
    sum.series.insert("tried".into(), tried);
    Ok(sum)
}

/// Processes that produce.
pub(super) struct Producers(Vec<Child>);

impl Producers {
    /// Starts them with an equal share of the rate, and waits until they are ready.
    pub(super) async fn start(
        contender: &Contender,
        job: &Job,
        processes: u64,
        at_a_time: u64,
    ) -> Result<Self, Failure> {
        let share = Job { producers: at_a_time, rate: job.rate / processes as f64, ..job.clone() };
        let child = |number| Child::start(contender, "produce", &Job { number, ..share.clone() });
        let mut children = (0..processes).map(child).collect::<Result<Vec<_>, _>>()?;
        futures::future::try_join_all(children.iter_mut().map(Child::ready)).await?;
        Ok(Self(children))
    }

    /// Lets them run, and adds up what they did.
    pub(super) async fn run(mut self, within: Duration) -> Result<Produced, Failure> {
        for child in &mut self.0 {
            child.go().await?;
        }
        let all = self.0.into_iter().map(|child| child.finish::<Produced>(within));
        let all = futures::future::try_join_all(all).await?;
        let mut sum = Produced::default();
        for one in all {
            sum.count += one.count;
            sum.seconds = sum.seconds.max(one.seconds);
            sum.cpu_seconds += one.cpu_seconds;
            sum.transactions.join(&one.transactions);
            sum.errors.extend(one.errors);
        }
        if let Some(error) = sum.errors.first() {
            eprintln!("an error reached a producer: {error}");
        }
        Ok(sum)
    }
}

/// What was seen of the server while it worked.
struct Watched {
    depth: Vec<[f64; 2]>,
    history: Vec<[f64; 2]>,
}

async fn watch(
    connection: &mut MySqlConnection,
    contender: &Contender,
    lasts: Duration,
) -> Result<Watched, Failure> {
    let (began, mut watched) = (Instant::now(), Watched { depth: Vec::new(), history: Vec::new() });
    while began.elapsed() < lasts {
        let depth = depth(connection, contender).await? as f64;
        let now = began.elapsed().as_secs_f64();
        watched.depth.push([now, depth]);
        watched.history.push([now, server::history(connection).await?]);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Ok(watched)
}

impl Watched {
    fn tell(self, round: &mut Round) {
        // The first third is for getting started.
        let begun = self.depth.len() / 3;
        round.set_some("growth_per_second", slope(&self.depth[begun..]));
        let most = |points: &[[f64; 2]]| points.iter().map(|point| point[1]).fold(0.0, f64::max);
        round.set("backlog_most", most(&self.depth));
        round.set("history_most", most(&self.history));
        round.series.insert("backlog_over_time".into(), self.depth);
        round.series.insert("history_over_time".into(), self.history);
    }
}

/// The slope of the straight line that lies closest to the points.
fn slope(points: &[[f64; 2]]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |n: usize| points.iter().map(|point| point[n]).sum::<f64>() / count;
    let (x, y) = (mean(0), mean(1));
    let over = points.iter().map(|point| (point[0] - x) * (point[1] - y)).sum::<f64>();
    let under = points.iter().map(|point| (point[0] - x).powi(2)).sum::<f64>();
    crate::statistics::ratio(over, under)
}

async fn depth(connection: &mut MySqlConnection, contender: &Contender) -> Result<u64, Failure> {
    backlog::remaining(connection, contender).await?.ok_or_else(|| "only the peer knows what is left".into())
}

/// No longer than a lease and a little: what a stopped instance has in hand comes back by then.
async fn wait_until_empty(connection: &mut MySqlConnection, contender: &Contender) -> Result<(), Failure> {
    for _ in 0..200 {
        if depth(connection, contender).await? == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_is_found_through_noise() {
        let points: Vec<[f64; 2]> =
            (0..10).map(|x| [f64::from(x), 3.0 * f64::from(x) + f64::from(x % 2)]).collect();
        assert!((slope(&points).unwrap() - 3.0).abs() < 0.1);
        assert_eq!(slope(&points[..1]), None);
    }
}
