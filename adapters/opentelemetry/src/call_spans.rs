use std::time::{Duration, SystemTime};

use claimstream_domain::QueueName;
use claimstream_ports::{Measured, StoreCall, Telemetry};
use opentelemetry::{
    KeyValue, global,
    trace::{Span, SpanKind, Status, Tracer},
};

use crate::attributes::{SCOPE, error_type, of_operation};

/// Makes a span of each claim that brought messages, of each settlement, and of each of both that failed.
///
/// They are made after the fact, so they belong to no trace of a message, and cost nothing while the call is under way. Claims of an empty queue
/// have none: there would be thousands an hour.
#[derive(Clone, Copy, Default, Debug)]
pub struct CallSpans;

impl Telemetry for CallSpans {
    fn record(&self, measured: Measured<'_>) {
        match measured {
            Measured::Claimed { queue, messages, took } if messages > 0 => {
                ended(queue, "receive", took, Ok(messages));
            }
            Measured::Settling { queue, messages, took } => ended(queue, "settle", took, Ok(messages)),
            Measured::Failed { queue, call, kind, took } => match call {
                StoreCall::Claim => ended(queue, "receive", took, Err(kind.as_str())),
                StoreCall::Settle => ended(queue, "settle", took, Err(kind.as_str())),
                StoreCall::Renew => {}
            },
            _ => {}
        }
    }
}

/// Notes a call that has just ended, with the number of its messages or its failure. A sampler sees its name and kind; attributes are made for those that
/// are sent.
fn ended(queue: &QueueName, operation: &'static str, took: Duration, came_to: Result<usize, &'static str>) {
    let (tracer, now) = (global::tracer(SCOPE), SystemTime::now());
    let builder = tracer.span_builder(format!("{operation} {queue}")).with_kind(SpanKind::Client);
    let mut span = builder.with_start_time(now.checked_sub(took).unwrap_or(now)).start(&tracer);
    if !span.is_recording() {
        return;
    }
    span.set_attributes(of_operation(queue, operation, operation));
    match came_to {
        Ok(messages) => {
            let messages = i64::try_from(messages).unwrap_or(i64::MAX);
            span.set_attribute(KeyValue::new("messaging.batch.message_count", messages));
        }
        Err(kind) => {
            span.set_attribute(error_type(kind));
            span.set_status(Status::error(""));
        }
    }
    span.end_with_timestamp(now);
}
