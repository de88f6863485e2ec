use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use claimstream_domain::QueueName;
use claimstream_ports::Handled;
use opentelemetry::KeyValue;

use crate::attributes::{error_type, name_of, of_count};

/// The attributes that each message is measured with, made once for each queue.
#[derive(Clone, Default, Debug)]
pub(crate) struct HotAttributes(Arc<RwLock<HashMap<QueueName, Arc<OfQueue>>>>);

#[derive(Debug)]
pub(crate) struct OfQueue {
    /// Of a wait.
    pub(crate) queue: [KeyValue; 1],
    /// Of a handler's end, by the number of the outcome.
    pub(crate) processed: [Vec<KeyValue>; Handled::ALL.len()],
}

impl HotAttributes {
    pub(crate) fn of(&self, queue: &QueueName) -> Arc<OfQueue> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(queue).cloned();
        known.unwrap_or_else(|| {
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(queue.clone()).or_insert_with(|| Arc::new(OfQueue::new(queue))))
        })
    }
}

impl OfQueue {
    fn new(queue: &QueueName) -> Self {
        let processed = Handled::ALL.map(|outcome| {
            let mut attributes = of_count(queue, "process");
            attributes.extend(failure(outcome).map(error_type));
            attributes
        });
        Self { queue: [name_of(queue)], processed }
    }
}

/// The kind of failure of a handler; `None` for an end that is none.
fn failure(outcome: Handled) -> Option<&'static str> {
    match outcome {
        Handled::Acked | Handled::Postponed | Handled::Released => None,
        Handled::Nacked | Handled::Buried | Handled::Panicked | Handled::TimedOut => Some(outcome.as_str()),
    }
}
