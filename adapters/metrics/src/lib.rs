//! Counts and times what an outbox does, on the facade of the crate [`metrics`].
//!
//! [`MetricsTelemetry`] records each verb of a relay and of its store, [`HttpRequests`] what a server answers; [`QueueGauges`] shows how queues stand, [`show_pipeline`] whether a pipeline works. All write to the
//! recorder that the program has installed, such as `metrics-exporter-prometheus`; without one they do next to nothing.
//!
//! In a process that has several databases, each metric about one has the label `database` too; [`DatabaseLabel`] names it.
//!
//! No metric has a label of which there may be many values: no id, no recipient, no text of an error.
//!
//! | metric | kind | labels |
//! |---|---|---|
//! | `claimstream_enqueued_total` | counter | `queue` |
//! | `claimstream_claimed_total` | counter | `queue` |
//! | `claimstream_claim_seconds` | histogram | `queue` |
//! | `claimstream_wait_seconds` | histogram | `queue` |
//! | `claimstream_handle_seconds` | histogram | `queue`, `outcome`: ack, nack, postpone, release, bury, panic, timeout |
//! | `claimstream_settled_total` | counter | `queue`, `outcome`: done, retried, postponed, dead, returned, superseded |
//! | `claimstream_settle_seconds` | histogram | `queue` |
//! | `claimstream_renewed_total` | counter | `queue` |
//! | `claimstream_renew_seconds` | histogram | `queue` |
//! | `claimstream_leases_lost_total` | counter | `queue` |
//! | `claimstream_store_errors_total` | counter | `queue`, `call`: claim, settle, renew; `kind`: transient, unavailable, misconfigured, unsupported, corrupt, conflict |
//! | `claimstream_restarts_total` | counter | `operation` |
//! | `claimstream_connection_wait_seconds` | histogram | `pool`: relay, callers |
//! | `claimstream_swept_rows_total` | counter | |
//! | `claimstream_http_requests_total` | counter | `method`, `route`, `status` |
//! | `claimstream_http_request_seconds` | histogram | `method`, `route` |
//! | `claimstream_pipeline_working` | gauge | `queue` |
//! | `claimstream_queue_messages` | gauge | `queue`, `state`: waiting, due, leased, dead, stray |
//! | `claimstream_queue_oldest_seconds` | gauge | `queue` |
//! | `claimstream_queue_paused` | gauge | `queue` |
#![forbid(unsafe_code)]

mod describe;
mod hot_metrics;
mod http_requests;
mod label;
mod metrics_telemetry;
mod pipelines;
mod queue_gauges;

pub use describe::{SECONDS_BUCKETS, describe};
pub use http_requests::HttpRequests;
pub use label::DatabaseLabel;
pub use metrics_telemetry::MetricsTelemetry;
pub use pipelines::{PipelineHealth, begin_at_zero, begin_at_zero_in, show_pipeline, show_pipeline_in};
pub use queue_gauges::QueueGauges;

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
