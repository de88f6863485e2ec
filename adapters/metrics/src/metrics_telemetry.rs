use std::time::Duration;

use claimstream_domain::QueueName;
use claimstream_ports::{Measured, Telemetry};
use metrics::{counter, histogram};

use crate::{hot_metrics::HotMetrics, label::label};

/// Counts and times each verb of a relay and of its store; the table at the head of this crate has the metrics.
///
/// Hand it to `Relay::with_telemetry`, and to the store when it is opened. Install the recorder first: clones keep together what they
/// have found of the metrics that each message writes.
#[derive(Clone, Default, Debug)]
pub struct MetricsTelemetry {
    hot: HotMetrics,
}

impl Telemetry for MetricsTelemetry {
    fn record(&self, measured: Measured<'_>) {
        match measured {
            Measured::Enqueued { queue, messages } => count("claimstream_enqueued_total", queue, messages),
            Measured::Claimed { queue, messages, took } => {
                count("claimstream_claimed_total", queue, messages);
                time("claimstream_claim_seconds", queue, took);
            }
            Measured::Waited { queue, waits } => self.hot.waited(queue, waits),
            Measured::Handled { queue, outcome, took } => self.hot.handled(queue, outcome, took),
            Measured::Settled { queue, outcome, messages } => {
                let (queue, outcome) = (label(queue), outcome.as_str());
                counter!("claimstream_settled_total", "queue" => queue, "outcome" => outcome)
                    .increment(messages as u64);
            }
            Measured::Settling { queue, took, .. } => time("claimstream_settle_seconds", queue, took),
            Measured::Renewed { queue, messages, took } => {
                count("claimstream_renewed_total", queue, messages);
                time("claimstream_renew_seconds", queue, took);
            }
            Measured::LeasesLost { queue, messages } => {
                count("claimstream_leases_lost_total", queue, messages)
            }
            Measured::Failed { queue, call, kind, .. } => {
                let (queue, call, kind) = (label(queue), call.as_str(), kind.as_str());
                counter!("claimstream_store_errors_total", "queue" => queue, "call" => call, "kind" => kind)
                    .increment(1);
            }
            Measured::Swept { rows } => counter!("claimstream_swept_rows_total").increment(rows),
            Measured::Restarted { operation } => {
                counter!("claimstream_restarts_total", "operation" => operation).increment(1)
            }
            Measured::WaitedForConnection { pool, took } => {
                histogram!("claimstream_connection_wait_seconds", "pool" => pool.as_str()).record(took)
            }
            // A measurement that is newer than this crate.
            _ => {}
        }
    }
}

fn count(name: &'static str, queue: &QueueName, messages: usize) {
    counter!(name, "queue" => label(queue)).increment(messages as u64);
}

fn time(name: &'static str, queue: &QueueName, took: Duration) {
    histogram!(name, "queue" => label(queue)).record(took);
}
