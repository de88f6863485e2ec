use claimstream_domain::{Invalid, NewMessage};
use opentelemetry::{
    Context, KeyValue, global,
    trace::{SpanKind, Status, TraceContextExt, Tracer},
};

use crate::{
    attributes::{SCOPE, error_type, of_operation},
    trace_context::carry,
};

/// The span `send {queue}` of a message that is being enqueued: the one that its handler's span is linked to.
///
/// It is for those who want to see how long the transaction of an enqueue took; [`carry_trace`](crate::carry_trace) alone links the
/// handler to whatever span is current.
///
/// ```
/// # use claimstream_domain::{Invalid, NewMessage};
/// # use claimstream_opentelemetry::SendSpan;
/// # fn example(mut message: NewMessage, enqueue: impl FnOnce(NewMessage) -> bool) -> Result<(), Invalid> {
/// let span = SendSpan::begin(&mut message)?;
/// // In the transaction of the business change; a span that is dropped has failed.
/// if enqueue(message) {
///     span.end();
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a span that is dropped at once has failed"]
pub struct SendSpan {
    context: Context,
    ended: bool,
}

impl SendSpan {
    /// Begins it as a child of the current span, and writes it into the headers of the message. Fails if they have no room for it.
    pub fn begin(message: &mut NewMessage) -> Result<Self, Invalid> {
        let tracer = global::tracer(SCOPE);
        let mut attributes = of_operation(&message.queue, "send", "send");
        attributes.push(KeyValue::new("messaging.message.id", message.id.to_string()));
        let builder = tracer.span_builder(format!("send {}", message.queue));
        let builder = builder.with_kind(SpanKind::Producer).with_attributes(attributes);
        let span = tracer.build_with_context(builder, &Context::current());
        let span = Self { context: Context::current_with_span(span), ended: false };
        carry(&mut message.headers, span.context.span().span_context())?;
        Ok(span)
    }

    /// Ends it: the message was enqueued.
    pub fn end(mut self) {
        self.context.span().end();
        self.ended = true;
    }
}

impl Drop for SendSpan {
    fn drop(&mut self) {
        if !self.ended {
            let span = self.context.span();
            span.set_attribute(error_type("unfinished"));
            span.set_status(Status::error(""));
            span.end();
        }
    }
}
