//! What a Prometheus server reads.
//! Promise: each metric has a description; the rules for alerts and the dashboard name only existing metrics
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{collections::BTreeSet, time::Duration};

use claimstream_domain::{PauseNote, PausedQueue, QueueName, QueueStatus};
use claimstream_metrics::{
    DatabaseLabel, HttpRequests, MetricsTelemetry, PipelineHealth, QueueGauges, SECONDS_BUCKETS,
    begin_at_zero, begin_at_zero_in, describe, show_pipeline, show_pipeline_in,
};
use claimstream_ports::{Handled, Measured, Pool, SettledAs, StoreCall, StoreErrorKind, Telemetry};
use metrics_exporter_prometheus::PrometheusBuilder;

/// The text that a recorder shows after `record` has written to it.
fn rendered(record: impl FnOnce()) -> String {
    let recorder = PrometheusBuilder::new().set_buckets(&SECONDS_BUCKETS).unwrap().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        describe();
        record();
    });
    handle.render()
}

fn has(text: &str, line: &str) {
    assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
}

#[test]
fn every_measurement_is_one_metric_with_few_labels() {
    let queue = &QueueName::new("orders").unwrap();
    let took = Duration::from_millis(7);
    let all = [
        Measured::Enqueued { queue, messages: 5 },
        Measured::Claimed { queue, messages: 3, took },
        Measured::Waited { queue, waits: &[took, Duration::from_secs(3)] },
        Measured::Handled { queue, outcome: Handled::Acked, took },
        Measured::Settled { queue, outcome: SettledAs::Done, messages: 2 },
        Measured::Settling { queue, messages: 2, took },
        Measured::Renewed { queue, messages: 4, took },
        Measured::LeasesLost { queue, messages: 1 },
        Measured::Failed { queue, call: StoreCall::Claim, kind: StoreErrorKind::Unavailable, took },
        Measured::Swept { rows: 12 },
        Measured::Restarted { operation: "claim" },
        Measured::WaitedForConnection { pool: Pool::Callers, took },
    ];
    let text = rendered(|| {
        let telemetry = MetricsTelemetry::default();
        all.into_iter().for_each(|each| telemetry.record(each));
    });
    for line in [
        r#"claimstream_enqueued_total{queue="orders"} 5"#,
        r#"claimstream_claimed_total{queue="orders"} 3"#,
        r#"claimstream_claim_seconds_bucket{queue="orders",le="0.005"} 0"#,
        r#"claimstream_claim_seconds_bucket{queue="orders",le="0.01"} 1"#,
        r#"claimstream_wait_seconds_bucket{queue="orders",le="0.01"} 1"#,
        r#"claimstream_wait_seconds_count{queue="orders"} 2"#,
        r#"claimstream_handle_seconds_count{queue="orders",outcome="ack"} 1"#,
        r#"claimstream_settled_total{queue="orders",outcome="done"} 2"#,
        r#"claimstream_settle_seconds_count{queue="orders"} 1"#,
        r#"claimstream_renewed_total{queue="orders"} 4"#,
        r#"claimstream_renew_seconds_count{queue="orders"} 1"#,
        r#"claimstream_leases_lost_total{queue="orders"} 1"#,
        r#"claimstream_store_errors_total{queue="orders",call="claim",kind="unavailable"} 1"#,
        r#"claimstream_swept_rows_total 12"#,
        r#"claimstream_restarts_total{operation="claim"} 1"#,
        r#"claimstream_connection_wait_seconds_count{pool="callers"} 1"#,
    ] {
        has(&text, line);
    }
}

#[test]
fn the_counters_of_a_queue_begin_at_zero_so_that_their_first_growth_is_one() {
    let text = rendered(|| begin_at_zero("orders"));
    for outcome in SettledAs::ALL {
        let outcome = outcome.as_str();
        has(&text, &format!("claimstream_settled_total{{queue=\"orders\",outcome=\"{outcome}\"}} 0"));
    }
    has(&text, r#"claimstream_leases_lost_total{queue="orders"} 0"#);
    let queue = QueueName::new("orders").unwrap();
    let text = rendered(|| {
        MetricsTelemetry::default().record(Measured::LeasesLost { queue: &queue, messages: 2 });
        begin_at_zero("orders");
    });
    has(&text, r#"claimstream_leases_lost_total{queue="orders"} 2"#);
}

#[test]
fn a_pipeline_shows_whether_it_works() {
    for (health, shown) in [(PipelineHealth::Works, 1), (PipelineHealth::Fails, 0)] {
        let text = rendered(|| show_pipeline("orders", health));
        has(&text, &format!("claimstream_pipeline_working{{queue=\"orders\"}} {shown}"));
    }
}

#[test]
fn every_metric_of_the_table_is_described() {
    let table = include_str!("../src/lib.rs");
    let listed = table.lines().filter_map(|line| line.strip_prefix("//! | `")?.split('`').next());
    let described = include_str!("../src/describe.rs");
    let listed: Vec<_> = listed.collect();
    assert_eq!(listed.len(), 20);
    for name in listed {
        assert!(described.contains(&format!("\"{name}\"")), "{name} has no description");
    }
}

#[test]
fn requests_over_http_are_counted_by_route_and_status() {
    let text = rendered(|| {
        HttpRequests.record("GET", "/v1/notifications/{id}", 200, Duration::from_millis(3));
        HttpRequests.record("GET", "/v1/notifications/{id}", 404, Duration::from_millis(1));
    });
    let route = r#"method="GET",route="/v1/notifications/{id}""#;
    has(&text, &format!("claimstream_http_requests_total{{{route},status=\"200\"}} 1"));
    has(&text, &format!("claimstream_http_requests_total{{{route},status=\"404\"}} 1"));
    has(&text, &format!("claimstream_http_request_seconds_count{{{route}}} 2"));
}

#[test]
fn a_queue_that_is_empty_falls_to_zero() {
    let queue = QueueName::new("orders").unwrap();
    let oldest = Some(Duration::from_secs(90));
    let status = QueueStatus { queue, depth: 9, due: 4, leased: 2, retrying: 1, oldest, dead: 3, stray: 1 };
    let mut gauges = QueueGauges::default();
    let text = rendered(|| gauges.show(&[status]));
    has(&text, r#"claimstream_queue_messages{queue="orders",state="waiting"} 2"#);
    has(&text, r#"claimstream_queue_messages{queue="orders",state="due"} 4"#);
    has(&text, r#"claimstream_queue_messages{queue="orders",state="dead"} 3"#);
    has(&text, r#"claimstream_queue_oldest_seconds{queue="orders"} 90"#);
    let text = rendered(|| gauges.show(&[]));
    has(&text, r#"claimstream_queue_messages{queue="orders",state="due"} 0"#);
    has(&text, r#"claimstream_queue_oldest_seconds{queue="orders"} 0"#);
}

#[test]
fn a_queue_that_is_resumed_falls_to_zero() {
    let (queue, note) = (QueueName::new("orders").unwrap(), PauseNote::new("ann", None).unwrap());
    let paused = PausedQueue { queue, since: Duration::ZERO, note };
    let mut gauges = QueueGauges::default();
    let text = rendered(|| gauges.show_paused(std::slice::from_ref(&paused)));
    has(&text, r#"claimstream_queue_paused{queue="orders"} 1"#);
    let text = rendered(|| gauges.show_paused(&[]));
    has(&text, r#"claimstream_queue_paused{queue="orders"} 0"#);
}

#[test]
fn the_rules_for_alerts_name_only_metrics_that_there_are() {
    let named = metrics_in(include_str!("../../../docs/alerts.yml"));
    assert!(named.len() >= 5, "{named:?}");
    assert!(named.is_subset(&metrics()), "docs/metrics.md lacks {:?}", named.difference(&metrics()));
}

#[test]
fn the_dashboard_shows_every_metric_and_no_other() {
    let named = metrics_in(include_str!("../../../docs/grafana.json"));
    let mut all = metrics();
    // A label of a version is no curve, and claims are shown as what becomes of them.
    all.retain(|name| {
        !["claimstream_build_info", "claimstream_claimed_total", "claimstream_renew_seconds"].contains(name)
    });
    assert_eq!(named, all);
}

/// The metrics that the page lists.
fn metrics() -> BTreeSet<&'static str> {
    let rows =
        include_str!("../../../docs/metrics.md").lines().filter(|line| line.starts_with("| `claimstream_"));
    rows.flat_map(|row| row.split('`').filter(|part| part.starts_with("claimstream_"))).collect()
}

/// The metrics that a file names; a histogram by its name alone.
fn metrics_in(file: &str) -> BTreeSet<&str> {
    let words = file.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
    words
        .filter(|word| word.starts_with("claimstream_"))
        .map(|word| word.trim_end_matches("_bucket").trim_end_matches("_count"))
        .collect()
}

#[test]
fn in_a_process_with_several_databases_each_metric_names_its_own() {
    let queue = &QueueName::new("orders").unwrap();
    let text = rendered(|| {
        let label = DatabaseLabel::named("billing");
        let telemetry = MetricsTelemetry::in_database(label.clone());
        telemetry.record(Measured::Claimed { queue, messages: 3, took: Duration::ZERO });
        telemetry.record(Measured::Swept { rows: 2 });
        telemetry.record(Measured::Waited { queue, waits: &[Duration::ZERO] });
        QueueGauges::in_database(label.clone())
            .show(&[QueueStatus { due: 2, ..QueueStatus::empty(queue.clone()) }]);
        begin_at_zero_in(&label, "orders");
        show_pipeline_in(&label, "orders", PipelineHealth::Fails);
    });
    for line in [
        r#"claimstream_claimed_total{queue="orders",database="billing"} 3"#,
        r#"claimstream_swept_rows_total{database="billing"} 2"#,
        r#"claimstream_wait_seconds_count{queue="orders",database="billing"} 1"#,
        r#"claimstream_queue_messages{queue="orders",state="due",database="billing"} 2"#,
        r#"claimstream_settled_total{queue="orders",outcome="dead",database="billing"} 0"#,
        r#"claimstream_pipeline_working{queue="orders",database="billing"} 0"#,
    ] {
        has(&text, line);
    }
}
