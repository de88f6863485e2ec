use claimstream_ports::SettledAs;
use metrics::{SharedString, counter, gauge};

use crate::label::DatabaseLabel;

/// Shows the counters of a queue with zero, before its pipeline runs.
///
/// A counter that comes into the world as 1 has not grown in the eyes of Prometheus, so an alert that looks for growth would miss the first
/// dead letter of a process.
pub fn begin_at_zero(queue: &str) {
    begin_at_zero_in(&DatabaseLabel::default(), queue);
}

/// The same for a queue of one of several databases.
pub fn begin_at_zero_in(database: &DatabaseLabel, queue: &str) {
    let queue = SharedString::from(queue.to_owned());
    for outcome in SettledAs::ALL {
        let labels = [("queue", queue.clone()), ("outcome", outcome.as_str().into())];
        counter!("claimstream_settled_total", database.and(labels)).increment(0);
    }
    for name in ["claimstream_claimed_total", "claimstream_leases_lost_total", "claimstream_renewed_total"] {
        counter!(name, database.and([("queue", queue.clone())])).increment(0);
    }
    counter!("claimstream_swept_rows_total", database.and([])).increment(0);
}

/// How a pipeline fares, for [`show_pipeline`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PipelineHealth {
    /// It works, or waits for messages.
    Works,
    /// It has ended, its calls have failed for some time, or it stands still.
    Fails,
}

/// Shows how the pipeline of a queue fares in this process.
pub fn show_pipeline(queue: &str, health: PipelineHealth) {
    show_pipeline_in(&DatabaseLabel::default(), queue, health);
}

/// The same for a queue of one of several databases.
pub fn show_pipeline_in(database: &DatabaseLabel, queue: &str, health: PipelineHealth) {
    let works = match health {
        PipelineHealth::Works => 1.0,
        PipelineHealth::Fails => 0.0,
    };
    let labels = database.and([("queue", queue.to_owned().into())]);
    gauge!("claimstream_pipeline_working", labels).set(works);
}
