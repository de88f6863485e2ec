use super::{Plan, Setting};
use crate::{cell::Cell, contender::Contender, job::Job};

/// Nothing that should end by itself takes longer than this.
const AT_MOST: u64 = 120;
/// A naive contender is stopped after this; it slows down with the backlog.
const NAIVE: u64 = 6;
/// So is another library's, if it stalls.
const PEER: u64 = 10;

/// Everybody drains the same backlog, with each number of instances.
pub(super) fn drain(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let takes_part =
        |one: &&Contender| one.peer().is_none_or(|peer| peer.scenarios.iter().any(|s| s == "drain"));
    let group = |instances: &u64| {
        let cell = |one| whole("drain", setting, one, *instances);
        setting.contenders.iter().filter(takes_part).map(cell).collect()
    };
    setting.options.instances.iter().map(group).collect()
}

fn whole(scenario: &str, setting: &Setting<'_>, contender: &Contender, instances: u64) -> Cell {
    let job = setting.job(contender, instances);
    let seconds = match contender {
        Contender::Peer(_) => PEER,
        own if own.is_naive() => NAIVE,
        _ => AT_MOST,
    };
    let to_the_end = seconds == AT_MOST;
    let plan = Plan::Drain { job: Job { seconds, ..job.clone() }, to_the_end, under_snapshot: false };
    sized(Cell::new(scenario, contender, instances, plan), &job)
}

/// One instance, and more and more messages; of the largest backlogs only the first seconds.
pub(super) fn backlog(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let group = |backlog: &u64| {
        let (backlog, names) = (*backlog, candidates(*backlog));
        let cell = move |one: &Contender| {
            let whole = backlog <= 200_000;
            let seconds = if whole { AT_MOST } else { setting.options.limit };
            let job = Job { backlog, seconds, ..setting.job(one, 1) };
            let plan = Plan::Drain { job: job.clone(), to_the_end: whole, under_snapshot: false };
            sized(Cell::new("backlog", one, 1, plan), &job)
        };
        setting.named(names).map(cell).collect()
    };
    setting.options.backlogs.iter().map(group).collect()
}

/// The largest is measured for the library alone, on one standing backlog.
fn candidates(backlog: u64) -> &'static [&'static str] {
    match backlog {
        ..=1_000_000 => &["ceilxr", "handwritten", "preemptive_update", "skip_locked", "shard_lease"],
        _ => &["preemptive_update", "skip_locked", "shard_lease"],
    }
}

/// The library, with a snapshot open elsewhere and without.
pub(super) fn snapshot(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let cells = |one: &Contender| {
        let job = Job { backlog: setting.options.snapshot_backlog, seconds: 30, ..setting.job(one, 1) };
        let cell = |open: &str| {
            let under_snapshot = open == "open";
            let plan = Plan::Drain { job: job.clone(), to_the_end: false, under_snapshot };
            sized(Cell::new("snapshot", one, 1, plan), &job).with("snapshot", open)
        };
        [cell("none"), cell("open")]
    };
    vec![setting.library().filter(|one| one.name() != "shard_lease_per_key").flat_map(cells).collect()]
}

/// Messages one by one.
pub(super) fn single(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let names = &["ceilxr", "handwritten", "preemptive_update", "skip_locked", "shard_lease"];
    let group = |instances: &u64| {
        let cell = |one: &Contender| {
            let backlog = setting.options.backlog.min(20_000);
            let job = Job { batch: 1, backlog, ..setting.job(one, *instances) };
            let plan = Plan::Drain { job: job.clone(), to_the_end: false, under_snapshot: false };
            sized(Cell::new("single", one, *instances, plan), &job)
        };
        setting.named(names).map(cell).collect()
    };
    setting.options.instances.iter().filter(|instances| **instances < 16).map(group).collect()
}

/// The cell with what its messages are.
pub(super) fn sized(cell: Cell, job: &Job) -> Cell {
    cell.with("backlog", job.backlog).with("batch", job.batch).with("payload", job.payload)
}
