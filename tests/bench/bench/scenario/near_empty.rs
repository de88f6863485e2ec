use std::time::Duration;

use super::{
    Plan, Setting,
    steady::{AT_A_TIME, PRODUCERS, Producers},
};
use crate::{
    Failure,
    backlog::{self, Backlog},
    cell::Cell,
    contender::Contender,
    drain::{Crew, count, figure},
    handwritten,
    job::Job,
    record::Round,
    server::Status,
};

const INSTANCES: u64 = 16;
const RATE: f64 = 2000.0;
const PER_TRANSACTION: u64 = 5;

/// Two producers alone; with instances that have nothing to do; and with instances that take every message at once.
pub(super) fn groups(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let cell = |one: &Contender, instances, consumers: &str| {
        let aside = consumers == "idle";
        let (rate, per_transaction) = (RATE, PER_TRANSACTION);
        let job = Job { backlog: 0, aside, rate, per_transaction, ..setting.job(one, instances) };
        let cell = Cell::new("near_empty", one, instances, Plan::NearEmpty(job.clone()));
        cell.with("consumers", consumers).with("rate", rate).with("seconds", job.seconds)
    };
    let alone = setting.library().take(1).map(|one| cell(one, 0, "none").called("library"));
    let others =
        setting.library().flat_map(|one| [cell(one, INSTANCES, "idle"), cell(one, INSTANCES, "busy")]);
    vec![alone.chain(others).collect()]
}

pub(super) async fn round(contender: &Contender, job: &Job, backlog: &mut Backlog) -> Result<Round, Failure> {
    backlog.fill(contender, job).await?;
    let mut connection = handwritten::connect(&job.url).await?;
    let mut crew =
        Crew::start(contender, &Job { stay: true, seconds: job.seconds + 60, ..job.clone() }).await?;
    let producers = Producers::start(contender, job, PRODUCERS, AT_A_TIME).await?;
    let began = crew.go().await?;
    // Idle instances have found their pace by then.
    tokio::time::sleep(Duration::from_secs(if job.aside { 10 } else { 1 })).await;
    let before = Status::of(&mut connection).await?;
    let produced = producers.run(Duration::from_secs(job.seconds + 60)).await?;
    let status = Status::of(&mut connection).await?.since(before);
    if job.instances > 0 && !job.aside {
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    crew.go().await?;
    let work = crew.finish(Duration::from_secs(60)).await?;
    let mut round = Round { counts: count(&work), ..Round::default() };
    round.counts.deadlocks = status.deadlocks as u64;
    round.counts.not_drained = backlog::depth(&mut connection).await?;
    round.counts.lost = produced.count.abs_diff(round.counts.acknowledged + round.counts.not_drained);
    round.counts.errors += produced.errors.len() as u64;
    figure(&mut round, &work, began, status);
    round.set("enqueued_per_second", produced.count as f64 / produced.seconds);
    round.set_some("insert_p50_ms", produced.transactions.percentile(0.5));
    round.set_some("insert_p99_ms", produced.transactions.percentile(0.99));
    round.set("deadlocks", status.deadlocks);
    Ok(round)
}
