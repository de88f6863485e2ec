use super::{Plan, Setting, drains::sized};
use crate::{cell::Cell, contender::Contender, job::Job};

/// Bytes of a message, and how many messages there are of each.
const SIZES: [(usize, u64); 3] = [(100, 100_000), (10_000, 10_000), (1_000_000, 100)];
const AT_MOST: u64 = 120;

/// One instance empties small, middling and large messages.
pub(super) fn groups(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let group = |(payload, count): (usize, u64)| {
        let cell = |one: &Contender| {
            let backlog = count.min(setting.options.backlog);
            let job = Job { payload, backlog, seconds: AT_MOST, ..setting.job(one, 1) };
            let plan = Plan::Drain { job: job.clone(), to_the_end: true, under_snapshot: false };
            sized(Cell::new("payloads", one, 1, plan), &job)
        };
        let ours = setting.library().filter(|one| !one.is_keyed());
        setting.named(&["handwritten"]).chain(ours).map(cell).collect()
    };
    SIZES.into_iter().map(group).collect()
}
