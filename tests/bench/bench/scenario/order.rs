use super::{Plan, Setting, drains::sized};
use crate::{
    cell::Cell,
    contender::{Contender, Own},
    job::Job,
};

/// How many keys there are: one that everything waits for, a few, and many.
const KEYS: [u64; 3] = [1, 200, 10_000];
const INSTANCES: [u64; 2] = [1, 4];
/// A single key is not waited for any longer, however much is left.
const AT_MOST: u64 = 20;

/// A backlog without order, and the same number of messages in order under each number of keys.
pub(super) fn groups(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let group = |instances: u64| {
        let cell = |own, keys| {
            let contender = Contender::Own(own);
            let job = Job { keys, seconds: AT_MOST, ..setting.job(&contender, instances) };
            let plan = Plan::Drain { job: job.clone(), to_the_end: false, under_snapshot: false };
            sized(Cell::new("order", &contender, instances, plan), &job).with("keys", keys)
        };
        let keyed = KEYS.into_iter().map(|keys| cell(Own::ShardLeasePerKey, keys));
        [cell(Own::ShardLease, 0)].into_iter().chain(keyed).collect()
    };
    INSTANCES.into_iter().map(group).collect()
}
