//! Traces and measures what an outbox does, through OpenTelemetry.
//!
//! [`TracedHandler`] and [`TracedBatchHandler`] give each message that is handled a span of its own, in the trace in which the message was
//! created; [`carry_trace`] writes the current span into the headers of a message that is enqueued, [`SendSpan`] one of its own, and
//! [`TracedStore`] does so for the messages of sagas, TCC transactions and timers. [`CallSpans`] and [`MeterTelemetry`] turn what a relay and its
//! store do into spans and metrics.
//!
//! All of them use the global providers that the program has installed; without one they do next to nothing.
//!
//! # Spans
//!
//! | span | kind | of what |
//! |---|---|---|
//! | `send {queue}` | producer | an enqueue that is wrapped in a [`SendSpan`] |
//! | `process {queue}` | consumer | one attempt at one message, linked to the span that created the message and on the first attempt its child |
//! | `receive {queue}` | client | a claim that brought messages |
//! | `settle {queue}` | client | a settlement |
//!
//! They have the attributes `messaging.system`, `messaging.operation.name`, `messaging.operation.type`, `messaging.destination.name` and
//! `error.type`; `process` has `messaging.message.id`, `messaging.destination.partition.id` (the shard), `claimstream.attempt` and
//! `claimstream.verdict` as well. No payload, no recipient and no reason is traced.
//!
//! # Metrics
//!
//! | metric | kind | attributes |
//! |---|---|---|
//! | `messaging.client.sent.messages` | counter | queue; send |
//! | `messaging.client.consumed.messages` | counter | queue; receive |
//! | `messaging.client.operation.duration` | histogram, seconds | queue; receive, settle or renew; `error.type` |
//! | `messaging.process.duration` | histogram, seconds | queue; `error.type` |
//! | `claimstream.wait` | histogram, seconds | queue |
//! | `claimstream.settled.messages` | counter | queue; `claimstream.outcome` |
//! | `claimstream.leases.lost` | counter | queue |
//! | `claimstream.restarts` | counter | `claimstream.operation` |
//! | `claimstream.connection.wait` | histogram, seconds | `claimstream.pool` |
//! | `claimstream.swept.rows` | counter | |
//!
//! Two of them, `messaging.process.duration` and `claimstream.wait`, are recorded for each message. With the feature `bound` the SDK looks their attributes up
//! once for a queue and an outcome; a provider other than that of `opentelemetry_sdk` may then keep none of them.
//!
//! Source: OpenTelemetry semantic conventions for messaging, 1.44, which are still in development.
#![forbid(unsafe_code)]

mod attributes;
mod call_spans;
mod message_times;
mod meter_telemetry;
mod process_span;
mod send_span;
mod series;
mod span_name;
mod trace_context;
mod traced_batch_handler;
mod traced_handler;
mod traced_store;

pub use call_spans::CallSpans;
pub use meter_telemetry::MeterTelemetry;
pub use send_span::SendSpan;
pub use trace_context::{carry_trace, current_traceparent};
pub use traced_batch_handler::TracedBatchHandler;
pub use traced_handler::TracedHandler;
pub use traced_store::TracedStore;

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
