use std::time::Duration;

use super::{Plan, Setting};
use crate::{
    Failure,
    backlog::Backlog,
    cell::Cell,
    child::Child,
    contender::Contender,
    drain::{Crew, count, figure},
    handwritten,
    job::{Job, Work, unix_now},
    record::Round,
    server::Status,
};

const INSTANCES: u64 = 4;
/// When an instance counts as idle, and how long it is then looked at.
const AFTER: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_secs(20);
/// How many messages are sent to an idle instance.
const MESSAGES: u64 = 100;

/// What idle instances ask of the server, and how soon one of them has a message that its own process enqueued.
pub(super) fn groups(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let idle = |one: &Contender| {
        let job = Job { backlog: 0, ..setting.job(one, INSTANCES) };
        Cell::new("idle", one, INSTANCES, Plan::Idle(job))
    };
    let wake = |one: &Contender| {
        let job = Job { backlog: MESSAGES, ..setting.job(one, 1) };
        Cell::new("wakeup", one, 1, Plan::Wake(job)).with("messages", MESSAGES)
    };
    vec![setting.library().map(idle).collect(), setting.library().map(wake).collect()]
}

pub(super) async fn round(contender: &Contender, job: &Job, backlog: &mut Backlog) -> Result<Round, Failure> {
    backlog.fill(contender, job).await?;
    let mut connection = handwritten::connect(&job.url).await?;
    let mut crew = Crew::start(contender, &Job { stay: true, seconds: 120, ..job.clone() }).await?;
    crew.go().await?;
    tokio::time::sleep(AFTER).await;
    let before = Status::of(&mut connection).await?;
    tokio::time::sleep(LOOK).await;
    let status = Status::of(&mut connection).await?.since(before);
    crew.go().await?;
    let work = crew.finish(Duration::from_secs(60)).await?;
    let mut round = Round { counts: count(&work), ..Round::default() };
    round.counts.deadlocks = status.deadlocks as u64;
    let theirs = (status.statements - Status::STATEMENTS).max(0.0);
    round.set("statements_per_second_and_instance", theirs / LOOK.as_secs_f64() / job.instances as f64);
    Ok(round)
}

pub(super) async fn wake(contender: &Contender, job: &Job, backlog: &mut Backlog) -> Result<Round, Failure> {
    backlog.fill(contender, &Job { backlog: 0, ..job.clone() }).await?;
    let mut connection = handwritten::connect(&job.url).await?;
    let mut child = Child::start(contender, "wake", job)?;
    child.ready().await?;
    let before = Status::of(&mut connection).await?;
    let began = unix_now();
    child.go().await?;
    let work = [child.finish::<Work>(Duration::from_secs(120)).await?];
    let status = Status::of(&mut connection).await?.since(before);
    let mut round = Round { counts: count(&work), ..Round::default() };
    round.counts.deadlocks = status.deadlocks as u64;
    round.counts.lost = job.backlog.abs_diff(round.counts.acknowledged);
    figure(&mut round, &work, began, status);
    Ok(round)
}
