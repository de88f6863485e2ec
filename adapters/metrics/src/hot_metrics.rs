use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Duration,
};

use claimstream_domain::QueueName;
use claimstream_ports::Handled;
use metrics::{Histogram, histogram};

use crate::label::{DatabaseLabel, label};

/// The metrics that each message writes, looked up in the recorder once for each queue and outcome: a look-up costs more than what it
/// is for.
#[derive(Clone, Default)]
pub(crate) struct HotMetrics {
    pub(crate) database: DatabaseLabel,
    queues: Arc<RwLock<HashMap<QueueName, Arc<OfQueue>>>>,
}

#[derive(Default)]
struct OfQueue {
    wait: OnceLock<Histogram>,
    /// By the number of the outcome. One that has not happened is not there, so that it is not shown.
    handled: [OnceLock<Histogram>; Handled::ALL.len()],
}

impl HotMetrics {
    pub(crate) fn in_database(database: DatabaseLabel) -> Self {
        Self { database, ..Self::default() }
    }

    /// Notes how long the messages of a claim waited.
    pub(crate) fn waited(&self, queue: &QueueName, waits: &[Duration]) {
        let of_queue = self.of(queue);
        let labels = || self.database.and([("queue", label(queue))]);
        let wait = of_queue.wait.get_or_init(|| histogram!("claimstream_wait_seconds", labels()));
        waits.iter().for_each(|each| wait.record(*each));
    }

    /// Notes how long a handler took.
    pub(crate) fn handled(&self, queue: &QueueName, outcome: Handled, took: Duration) {
        let of_queue = self.of(queue);
        let found = of_queue.handled[outcome as usize].get_or_init(|| {
            let labels = [("queue", label(queue)), ("outcome", outcome.as_str().into())];
            histogram!("claimstream_handle_seconds", self.database.and(labels))
        });
        found.record(took);
    }

    fn of(&self, queue: &QueueName) -> Arc<OfQueue> {
        let known = self.queues.read().unwrap_or_else(PoisonError::into_inner).get(queue).cloned();
        known.unwrap_or_else(|| {
            let mut all = self.queues.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(queue.clone()).or_default())
        })
    }
}

impl fmt::Debug for HotMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("HotMetrics").field("queues", &queues).finish()
    }
}
