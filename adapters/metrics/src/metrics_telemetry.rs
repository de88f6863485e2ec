use std::time::Duration;

use claimstream_domain::QueueName;
use claimstream_ports::{Measured, Telemetry};
use metrics::{counter, histogram};

use crate::{
    hot_metrics::HotMetrics,
    label::{DatabaseLabel, label},
};

/// Counts and times each verb of a relay and of its store; the table at the head of this crate has the metrics.
///
/// Hand it to `Relay::with_telemetry`, and to the store when it is opened. Install the recorder first: clones keep together what they
/// have found of the metrics that each message writes.
#[derive(Clone, Default, Debug)]
pub struct MetricsTelemetry {
    hot: HotMetrics,
}

impl MetricsTelemetry {
    /// For what happens on one of several databases.
    pub fn in_database(database: DatabaseLabel) -> Self {
        Self { hot: HotMetrics::in_database(database) }
    }

    fn database(&self) -> &DatabaseLabel {
        &self.hot.database
    }

    fn count(&self, name: &'static str, queue: &QueueName, messages: usize) {
        counter!(name, self.database().and([("queue", label(queue))])).increment(messages as u64);
    }

    fn time(&self, name: &'static str, queue: &QueueName, took: Duration) {
        histogram!(name, self.database().and([("queue", label(queue))])).record(took);
    }
}

impl Telemetry for MetricsTelemetry {
    fn record(&self, measured: Measured<'_>) {
        match measured {
            Measured::Enqueued { queue, messages } => {
                self.count("claimstream_enqueued_total", queue, messages)
            }
            Measured::Claimed { queue, messages, took } => {
                self.count("claimstream_claimed_total", queue, messages);
                self.time("claimstream_claim_seconds", queue, took);
            }
            Measured::Waited { queue, waits } => self.hot.waited(queue, waits),
            Measured::Handled { queue, outcome, took } => self.hot.handled(queue, outcome, took),
            Measured::Settled { queue, outcome, messages } => {
                let labels = [("queue", label(queue)), ("outcome", outcome.as_str().into())];
                counter!("claimstream_settled_total", self.database().and(labels)).increment(messages as u64);
            }
            Measured::Settling { queue, took, .. } => self.time("claimstream_settle_seconds", queue, took),
            Measured::Renewed { queue, messages, took } => {
                self.count("claimstream_renewed_total", queue, messages);
                self.time("claimstream_renew_seconds", queue, took);
            }
            Measured::LeasesLost { queue, messages } => {
                self.count("claimstream_leases_lost_total", queue, messages)
            }
            Measured::Failed { queue, call, kind, .. } => {
                let (call, kind) = (("call", call.as_str().into()), ("kind", kind.as_str().into()));
                let labels = self.database().and([("queue", label(queue)), call, kind]);
                counter!("claimstream_store_errors_total", labels).increment(1);
            }
            Measured::Swept { rows } => {
                counter!("claimstream_swept_rows_total", self.database().and([])).increment(rows)
            }
            Measured::Restarted { operation } => {
                let labels = self.database().and([("operation", operation.into())]);
                counter!("claimstream_restarts_total", labels).increment(1)
            }
            Measured::WaitedForConnection { pool, took } => {
                let labels = self.database().and([("pool", pool.as_str().into())]);
                histogram!("claimstream_connection_wait_seconds", labels).record(took)
            }
            // A measurement that is newer than this crate.
            _ => {}
        }
    }
}
