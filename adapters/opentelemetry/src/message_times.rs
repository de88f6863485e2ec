use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Duration,
};

use claimstream_domain::QueueName;
use claimstream_ports::Handled;
use opentelemetry::metrics::Histogram;

use crate::{
    attributes::{error_type, name_of, of_count},
    series::Series,
};

/// The two histograms that each message is recorded in. Their attributes are made once for each queue and outcome.
#[derive(Clone)]
pub(crate) struct MessageTimes {
    wait: Histogram<f64>,
    process: Histogram<f64>,
    queues: Arc<RwLock<BTreeMap<QueueName, OfQueue>>>,
}

#[derive(Default)]
struct OfQueue {
    wait: OnceLock<Series>,
    /// By the number of the outcome. One that has not happened is not there, so that it is not sent.
    processed: [OnceLock<Series>; Handled::ALL.len()],
}

impl MessageTimes {
    pub(crate) fn new(wait: Histogram<f64>, process: Histogram<f64>) -> Self {
        Self { wait, process, queues: Arc::default() }
    }

    /// Notes how long the messages of a claim waited.
    pub(crate) fn waited(&self, queue: &QueueName, waits: &[Duration]) {
        self.with(queue, |of_queue| {
            let wait = of_queue.wait.get_or_init(|| Series::new(&self.wait, vec![name_of(queue)]));
            waits.iter().for_each(|each| wait.record(*each));
        });
    }

    /// Notes how long a handler took.
    pub(crate) fn handled(&self, queue: &QueueName, outcome: Handled, took: Duration) {
        self.with(queue, |of_queue| {
            let processed = of_queue.processed[outcome as usize].get_or_init(|| {
                let mut attributes = of_count(queue, "process");
                attributes.extend(failure(outcome).map(error_type));
                Series::new(&self.process, attributes)
            });
            processed.record(took);
        });
    }

    fn with(&self, queue: &QueueName, note: impl Fn(&OfQueue)) {
        if let Some(known) = self.queues.read().unwrap_or_else(PoisonError::into_inner).get(queue) {
            return note(known);
        }
        let mut all = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        note(all.entry(queue.clone()).or_default());
    }
}

impl fmt::Debug for MessageTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("MessageTimes").field("queues", &queues).finish()
    }
}

/// The kind of failure of a handler; `None` for an end that is none.
fn failure(outcome: Handled) -> Option<&'static str> {
    match outcome {
        Handled::Acked | Handled::Postponed | Handled::Released => None,
        Handled::Nacked | Handled::Buried | Handled::Panicked | Handled::TimedOut => Some(outcome.as_str()),
    }
}
