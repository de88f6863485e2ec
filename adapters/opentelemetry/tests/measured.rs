//! What a collector of metrics sees.
//! Promise: each measurement is a metric by OpenTelemetry's conventions, with its attributes
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{collections::BTreeMap, time::Duration};

use claimstream_domain::QueueName;
use claimstream_opentelemetry::MeterTelemetry;
use claimstream_ports::{Handled, Measured, Pool, SettledAs, StoreCall, StoreErrorKind, Telemetry};
use opentelemetry::{KeyValue, global};
use opentelemetry_sdk::metrics::{
    InMemoryMetricExporter, SdkMeterProvider,
    data::{AggregatedMetrics, Metric, MetricData},
};

/// Each series, as its metric and attributes, with its value: of a counter its sum, of a histogram how often it was recorded.
type Series = BTreeMap<String, u64>;

fn series(record: impl FnOnce(&MeterTelemetry)) -> (Series, BTreeMap<String, String>) {
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
    global::set_meter_provider(provider.clone());
    record(&MeterTelemetry::new());
    provider.force_flush().unwrap();
    let all = exporter.get_finished_metrics().unwrap();
    let metrics: Vec<_> =
        all.iter().flat_map(|one| one.scope_metrics()).flat_map(|scope| scope.metrics()).collect();
    let units = metrics.iter().map(|metric| (metric.name().to_owned(), metric.unit().to_owned())).collect();
    (metrics.into_iter().flat_map(points).collect(), units)
}

fn points(metric: &Metric) -> Vec<(String, u64)> {
    match metric.data() {
        AggregatedMetrics::U64(MetricData::Sum(sum)) => {
            sum.data_points().map(|point| (named(metric, point.attributes()), point.value())).collect()
        }
        AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
            histogram.data_points().map(|point| (named(metric, point.attributes()), point.count())).collect()
        }
        other => panic!("{}: {other:?}", metric.name()),
    }
}

/// A metric with its attributes, without those that all have.
fn named<'a>(metric: &Metric, attributes: impl Iterator<Item = &'a KeyValue>) -> String {
    let all = attributes.map(|one| (one.key.to_string(), one.value.to_string()));
    let shared = [("messaging.system", "claimstream"), ("messaging.destination.name", "orders")];
    let own = all.filter(|(key, value)| !shared.contains(&(key.as_str(), value.as_str())));
    let mut own: Vec<_> = own.map(|(key, value)| format!("{key}={value}")).collect();
    own.sort();
    format!("{} {}", metric.name(), own.join(" ")).trim_end().to_owned()
}

#[test]
fn every_measurement_is_a_metric_by_the_conventions() {
    let queue = &QueueName::new("orders").unwrap();
    let took = Duration::from_millis(7);
    let (call, kind) = (StoreCall::Renew, StoreErrorKind::Unavailable);
    let all = [
        Measured::Enqueued { queue, messages: 5 },
        Measured::Claimed { queue, messages: 3, took },
        Measured::Claimed { queue, messages: 0, took },
        Measured::Waited { queue, waits: &[took, took, Duration::from_secs(3)] },
        Measured::Handled { queue, outcome: Handled::Acked, took },
        Measured::Handled { queue, outcome: Handled::TimedOut, took },
        Measured::Settled { queue, outcome: SettledAs::Done, messages: 2 },
        Measured::Settling { queue, messages: 2, took },
        Measured::Renewed { queue, messages: 4, took },
        Measured::Failed { queue, call, kind, took },
        Measured::LeasesLost { queue, messages: 1 },
        Measured::Swept { rows: 12 },
        Measured::Restarted { operation: "claim" },
        Measured::WaitedForConnection { pool: Pool::Callers, took },
    ];
    let (series, units) = series(|telemetry| all.into_iter().for_each(|each| telemetry.record(each)));
    let operation = |name: &str, kind: &str| {
        format!(
            "messaging.client.operation.duration messaging.operation.name={name} messaging.operation.type={kind}"
        )
    };
    let process = "messaging.process.duration messaging.operation.name=process";
    let expected = [
        ("messaging.client.sent.messages messaging.operation.name=send".to_owned(), 5),
        ("messaging.client.consumed.messages messaging.operation.name=receive".to_owned(), 3),
        (operation("receive", "receive"), 2),
        (operation("settle", "settle"), 1),
        (operation("renew", "settle"), 1),
        (operation("renew", "settle").replacen(" messaging", " error.type=unavailable messaging", 1), 1),
        (process.to_owned(), 1),
        (process.replacen(" messaging", " error.type=timeout messaging", 1), 1),
        ("claimstream.wait".to_owned(), 3),
        ("claimstream.settled.messages claimstream.outcome=done".to_owned(), 2),
        ("claimstream.leases.lost".to_owned(), 1),
        ("claimstream.swept.rows".to_owned(), 12),
        ("claimstream.restarts claimstream.operation=claim".to_owned(), 1),
        ("claimstream.connection.wait claimstream.pool=callers".to_owned(), 1),
    ];
    assert_eq!(series, Series::from(expected));
    for (metric, unit) in [("claimstream.wait", "s"), ("messaging.client.sent.messages", "{message}")] {
        assert_eq!(units.get(metric).map(String::as_str), Some(unit));
    }
}

#[test]
fn the_table_at_the_head_of_the_crate_has_every_metric() {
    let (table, source) = (include_str!("../src/lib.rs"), include_str!("../src/meter_telemetry.rs"));
    let names = |text: &'static str| {
        let all = text.split(['"', '`']).filter(|word| {
            word.starts_with("messaging.client.")
                || word.starts_with("messaging.process.")
                || word.starts_with("claimstream.")
        });
        all.collect::<std::collections::BTreeSet<_>>()
    };
    let (table, source) = (names(table), names(source));
    let missing: Vec<_> = source.difference(&table).collect();
    assert!(source.len() >= 11 && missing.is_empty(), "not in the table: {missing:?}");
}
