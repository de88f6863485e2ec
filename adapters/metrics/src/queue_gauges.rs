use std::collections::BTreeSet;

use claimstream_domain::{PausedQueue, QueueName, QueueStatus};
use metrics::gauge;

use crate::label::{DatabaseLabel, label};

/// Shows how queues stood when they were last observed.
///
/// A queue that is not observed any more, because it is empty, is shown with zeros, so that a graph falls to zero instead of keeping
/// its last value.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct QueueGauges {
    database: DatabaseLabel,
    shown: BTreeSet<QueueName>,
    paused: BTreeSet<QueueName>,
}

impl QueueGauges {
    /// For the queues of one of several databases.
    pub fn in_database(database: DatabaseLabel) -> Self {
        Self { database, ..Self::default() }
    }

    /// Shows these queues as they stand.
    pub fn show(&mut self, queues: &[QueueStatus]) {
        let seen: BTreeSet<_> = queues.iter().map(|status| status.queue.clone()).collect();
        self.shown.difference(&seen).for_each(|gone| self.set(&QueueStatus::empty(gone.clone())));
        queues.iter().for_each(|status| self.set(status));
        self.shown.extend(seen);
    }

    /// Shows these queues as paused, and those that were shown as paused before and are not among them as resumed.
    pub fn show_paused(&mut self, paused: &[PausedQueue]) {
        let now: BTreeSet<_> = paused.iter().map(|paused| paused.queue.clone()).collect();
        for queue in self.paused.union(&now) {
            let is_paused = if now.contains(queue) { 1.0 } else { 0.0 };
            gauge!("claimstream_queue_paused", self.database.and([("queue", label(queue))])).set(is_paused);
        }
        self.paused.extend(now);
    }

    fn set(&self, status: &QueueStatus) {
        let states = [
            ("waiting", status.depth.saturating_sub(status.due + status.leased + status.stray)),
            ("due", status.due),
            ("leased", status.leased),
            ("dead", status.dead),
            ("stray", status.stray),
        ];
        for (state, messages) in states {
            let labels = self.database.and([("queue", label(&status.queue)), ("state", state.into())]);
            gauge!("claimstream_queue_messages", labels).set(messages as f64);
        }
        let oldest = status.oldest.unwrap_or_default().as_secs_f64();
        let labels = self.database.and([("queue", label(&status.queue))]);
        gauge!("claimstream_queue_oldest_seconds", labels).set(oldest);
    }
}
