use claimstream_ports::SettledAs;
use metrics::{counter, gauge};

/// Shows the counters of a queue with zero, before its pipeline runs.
///
/// A counter that comes into the world as 1 has not grown in the eyes of Prometheus, so an alert that looks for growth would miss the first
/// dead letter of a process.
pub fn begin_at_zero(queue: &str) {
    for outcome in SettledAs::ALL {
        counter!("claimstream_settled_total", "queue" => queue.to_owned(), "outcome" => outcome.as_str())
            .increment(0);
    }
    for name in ["claimstream_claimed_total", "claimstream_leases_lost_total", "claimstream_renewed_total"] {
        counter!(name, "queue" => queue.to_owned()).increment(0);
    }
    counter!("claimstream_swept_rows_total").increment(0);
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
    let works = match health {
        PipelineHealth::Works => 1.0,
        PipelineHealth::Fails => 0.0,
    };
    gauge!("claimstream_pipeline_working", "queue" => queue.to_owned()).set(works);
}
