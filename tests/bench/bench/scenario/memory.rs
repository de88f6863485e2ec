use std::time::Duration;

use super::{Plan, Setting, drains::sized};
use crate::{
    Failure, backlog::Backlog, cell::Cell, child::Child, contender::Contender, drain::count, handwritten,
    holding::Held, job::Job, record::Round, server::Status,
};

/// Longer than a third of the lease, so that everything is renewed once.
const SECONDS: u64 = 15;

/// A process that has a hundred thousand messages in hand, none of which is done.
pub(super) fn groups(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let cell = |one: &Contender| {
        let job = Job { seconds: SECONDS, ..setting.job(one, 1) };
        sized(Cell::new("memory", one, 1, Plan::Memory(job.clone())), &job).with("held_seconds", SECONDS)
    };
    // With an order, no more than one message of a key is in hand.
    vec![setting.library().filter(|one| one.name() != "shard_lease_per_key").map(cell).collect()]
}

pub(super) async fn round(contender: &Contender, job: &Job, backlog: &mut Backlog) -> Result<Round, Failure> {
    backlog.fill(contender, job).await?;
    let mut connection = handwritten::connect(&job.url).await?;
    let mut child = Child::start(contender, "hold", job)?;
    child.ready().await?;
    let before = Status::of(&mut connection).await?;
    child.go().await?;
    let held: Held = child.finish(Duration::from_secs(job.seconds + 180)).await?;
    let status = Status::of(&mut connection).await?.since(before);
    let mut round = Round { counts: count(std::slice::from_ref(&held.work)), ..Round::default() };
    round.counts.acknowledged = held.acknowledged;
    round.counts.deadlocks = status.deadlocks as u64;
    round.counts.not_drained = backlog.remaining(contender).await?.unwrap_or(0);
    round.counts.lost = job.backlog.abs_diff(held.acknowledged + round.counts.not_drained);
    let messages = round.counts.handed_out.max(1) as f64;
    round.set("resident_before_mib", held.before_mib);
    round.set("resident_held_mib", held.held_mib);
    round.set("bytes_per_message", (held.held_mib - held.before_mib) * 1024.0 * 1024.0 / messages);
    Ok(round)
}
