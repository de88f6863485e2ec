use std::time::Duration;

use claimstream_ports::StoreError;

use crate::{
    database::{capability::Capability, typed_row::row, unit::rows},
    doctor::{
        examination::Examination,
        finding::{Finding, good, warning},
    },
    strategy::choice::Strategy,
};

const DOCTOR: &str = "doctor";
const CHECK: &str = "strategies";
const NOT_LEASED: &str = "no queue is in the hands of shard_lease";

impl Examination<'_> {
    /// Whether `shard_lease` and another strategy are at work on one queue at the same time.
    pub(super) async fn examine_strategies(&self) -> Result<Finding, StoreError> {
        if !self.schema.has(Capability::ShardLease) {
            return Ok(good(CHECK, NOT_LEASED));
        }
        let found =
            rows(self.db.relay(), DOCTOR, self.db.sql.doctor.strategies.bind(&self.db.args())).await?;
        let held = found.iter().map(HeldQueue::read).collect::<Result<Vec<_>, _>>()?;
        let mixed: Vec<_> = held.iter().filter_map(HeldQueue::mixed_for).collect();
        Ok(match (&mixed[..], &held[..]) {
            ([], []) => good(CHECK, NOT_LEASED),
            ([], held) => good(CHECK, self.at_work(held)),
            (mixed, _) => warning(CHECK, says_mixed(mixed)),
        })
    }

    fn at_work(&self, held: &[HeldQueue]) -> String {
        let queues = names(held.iter().map(|held| &held.queue));
        match self.strategy {
            Strategy::ShardLease => format!("shard_lease alone is at work on queue {queues}"),
            other => format!(
                "shard_lease alone is at work on queue {queues}; this configuration says {other}, which only a relay would use: do \
                 not start one with it before those have stopped"
            ),
        }
    }
}

/// The queues, and the longest time after which this is over if no relay keeps it up.
fn says_mixed(mixed: &[(&String, Duration)]) -> String {
    let queues = names(mixed.iter().map(|(queue, _)| *queue));
    let longest = mixed.iter().map(|(_, left)| *left).max().unwrap_or_default().as_secs() + 1;
    format!(
        "shard_lease and another strategy have messages of queue {queues} in hand at the same time: some handlers run twice. Give all \
         relays one strategy. If relays were killed while the strategy was changed, this is over in {longest} s; run doctor again then"
    )
}

fn names<'a>(queues: impl Iterator<Item = &'a String>) -> String {
    queues.map(String::as_str).collect::<Vec<_>>().join(", ")
}

impl HeldQueue {
    /// The queue, and the time until one side of the mix has ended; `None` if there is no mix.
    fn mixed_for(&self) -> Option<(&String, Duration)> {
        let left = self.marked_until?.min(self.ends_in);
        Some((&self.queue, Duration::from_micros(u64::try_from(left).unwrap_or_default())))
    }
}

row! {
    /// A queue that shard_lease is at work on.
    struct HeldQueue of "doctor/strategies" { queue: String, ends_in: i64, marked_until: Option<i64> }
}
