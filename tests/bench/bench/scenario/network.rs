use std::time::Duration;

use super::{Plan, Setting, drains::sized, proxy::Proxy};
use crate::{
    Failure, backlog::Backlog, cell::Cell, contender::Contender, drain::Drain, job::Job, record::Round,
};

/// Delays there and back, in milliseconds.
const DELAYS: [f64; 3] = [0.0, 0.5, 5.0];

/// Draining with a network between instances and server.
pub(super) fn groups(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let names = &["ceilxr", "handwritten", "preemptive_update", "skip_locked", "shard_lease"];
    let instances = setting.options.instances.iter().filter(|instances| **instances < 16);
    let conditions = instances.flat_map(|instances| DELAYS.map(|delay| (*instances, delay)));
    let group = |(instances, delay): (u64, f64)| {
        let cell = |one: &Contender| {
            let job = setting.job(one, instances);
            let plan =
                Plan::DrainFarAway { job: job.clone(), delay: Duration::from_secs_f64(delay / 1000.0) };
            sized(Cell::new("network", one, instances, plan), &job).with("delay_ms", delay)
        };
        setting.named(names).map(cell).collect()
    };
    conditions.map(group).collect()
}

pub(super) async fn round(
    contender: &Contender,
    job: &Job,
    delay: Duration,
    backlog: &mut Backlog,
    url: &str,
) -> Result<Round, Failure> {
    let proxy = Proxy::start(url, delay)?;
    let job = Job { url: proxy.url(url)?, ..job.clone() };
    Drain { contender, job, to_the_end: false, under_snapshot: false }.run(backlog, url).await
}
