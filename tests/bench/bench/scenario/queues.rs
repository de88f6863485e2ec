use super::{Plan, Setting, drains::sized};
use crate::{cell::Cell, contender::Contender, job::Job};

/// How many queues the process works on at one time.
const QUEUES: [u64; 2] = [1, 50];
const AT_MOST: u64 = 120;

/// The same messages in one queue and in many, which one instance empties.
pub(super) fn groups(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let cells = |one: &Contender| {
        let cell = |queues| {
            let job = Job { queues, seconds: AT_MOST, ..setting.job(one, 1) };
            let plan = Plan::Drain { job: job.clone(), to_the_end: true, under_snapshot: false };
            sized(Cell::new("queues", one, 1, plan), &job).with("queues", queues)
        };
        QUEUES.map(cell)
    };
    vec![setting.library().filter(|one| !one.is_keyed()).flat_map(cells).collect()]
}
