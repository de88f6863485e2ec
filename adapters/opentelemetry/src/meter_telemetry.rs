use std::time::Duration;

use claimstream_domain::QueueName;
use claimstream_ports::{Measured, StoreCall, Telemetry};
use opentelemetry::{
    KeyValue, global,
    metrics::{Counter, Histogram, Meter},
};

use crate::{
    attributes::{SCOPE, error_type, of_count, of_operation, of_queue},
    message_times::MessageTimes,
};

/// Counts and times what a relay and its store do, as OpenTelemetry's conventions for messaging name it.
///
/// Hand it to `Relay::with_telemetry`, and to the store when it is opened.
#[derive(Clone, Debug)]
pub struct MeterTelemetry {
    sent: Counter<u64>,
    consumed: Counter<u64>,
    settled: Counter<u64>,
    leases_lost: Counter<u64>,
    restarts: Counter<u64>,
    swept: Counter<u64>,
    operation: Histogram<f64>,
    times: MessageTimes,
    connection_wait: Histogram<f64>,
}

impl MeterTelemetry {
    /// Instruments of the global meter provider; install that first.
    pub fn new() -> Self {
        let meter = global::meter(SCOPE);
        Self {
            sent: counter(&meter, "messaging.client.sent.messages", "{message}", "Messages enqueued"),
            consumed: counter(&meter, "messaging.client.consumed.messages", "{message}", "Messages claimed"),
            settled: counter(&meter, "claimstream.settled.messages", "{message}", "Messages settled"),
            leases_lost: counter(&meter, "claimstream.leases.lost", "{message}", "Leases lost in a handler"),
            restarts: counter(&meter, "claimstream.restarts", "{transaction}", "Transactions restarted"),
            swept: counter(&meter, "claimstream.swept.rows", "{row}", "Rows removed by sweeps"),
            operation: histogram(
                &meter,
                "messaging.client.operation.duration",
                "Time of a call to the store",
            ),
            times: MessageTimes::new(
                histogram(&meter, "claimstream.wait", "Wait of a message from its due time to its claim"),
                histogram(&meter, "messaging.process.duration", "Time of a handler for a message"),
            ),
            connection_wait: histogram(&meter, "claimstream.connection.wait", "Wait for a connection"),
        }
    }

    fn call(&self, queue: &QueueName, call: StoreCall, took: Duration, failed: Option<&'static str>) {
        let (operation, kind) = match call {
            StoreCall::Claim => ("receive", "receive"),
            StoreCall::Settle => ("settle", "settle"),
            StoreCall::Renew => ("renew", "settle"),
        };
        let mut attributes = of_operation(queue, operation, kind);
        attributes.extend(failed.map(error_type));
        self.operation.record(took.as_secs_f64(), &attributes);
    }
}

impl Default for MeterTelemetry {
    fn default() -> Self {
        Self::new()
    }
}

impl Telemetry for MeterTelemetry {
    fn record(&self, measured: Measured<'_>) {
        match measured {
            Measured::Enqueued { queue, messages } => {
                self.sent.add(messages as u64, &of_count(queue, "send"));
            }
            Measured::Claimed { queue, messages, took } => {
                if messages > 0 {
                    self.consumed.add(messages as u64, &of_count(queue, "receive"));
                }
                self.call(queue, StoreCall::Claim, took, None);
            }
            Measured::Waited { queue, waits } => self.times.waited(queue, waits),
            Measured::Handled { queue, outcome, took } => self.times.handled(queue, outcome, took),
            Measured::Settled { queue, outcome, messages } => {
                let mut attributes = of_queue(queue);
                attributes.push(KeyValue::new("claimstream.outcome", outcome.as_str()));
                self.settled.add(messages as u64, &attributes);
            }
            Measured::Settling { queue, took, .. } => self.call(queue, StoreCall::Settle, took, None),
            Measured::Renewed { queue, took, .. } => self.call(queue, StoreCall::Renew, took, None),
            Measured::LeasesLost { queue, messages } => {
                self.leases_lost.add(messages as u64, &of_queue(queue));
            }
            Measured::Failed { queue, call, kind, took } => self.call(queue, call, took, Some(kind.as_str())),
            Measured::Swept { rows } => self.swept.add(rows, &[]),
            Measured::Restarted { operation } => {
                self.restarts.add(1, &[KeyValue::new("claimstream.operation", operation)]);
            }
            Measured::WaitedForConnection { pool, took } => {
                let pool = [KeyValue::new("claimstream.pool", pool.as_str())];
                self.connection_wait.record(took.as_secs_f64(), &pool);
            }
            // A measurement that is newer than this crate.
            _ => {}
        }
    }
}

fn counter(meter: &Meter, name: &'static str, unit: &'static str, about: &'static str) -> Counter<u64> {
    meter.u64_counter(name).with_unit(unit).with_description(about).build()
}

fn histogram(meter: &Meter, name: &'static str, about: &'static str) -> Histogram<f64> {
    let buckets =
        vec![0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0];
    meter.f64_histogram(name).with_unit("s").with_description(about).with_boundaries(buckets).build()
}
