use std::borrow::Cow;

use claimstream_domain::{Claimed, Headers, Verdict};
use opentelemetry::{
    Context, KeyValue,
    global::BoxedTracer,
    trace::{Link, Span, SpanKind, Status, TraceContextExt, Tracer},
};

use crate::{
    attributes::{error_type, of_operation},
    trace_context::{carried, carry},
};

/// The span of one attempt at one message. Without a verdict it ends as one that was not finished.
pub(crate) struct ProcessSpan {
    context: Context,
    ended: bool,
}

impl ProcessSpan {
    /// Begins it, linked to the span that created the message. The first attempt is that span's child; a later one may come hours
    /// after, so it begins a trace of its own.
    ///
    /// A sampler sees its name, kind and links; attributes are made for those that are sent.
    pub(crate) fn begin(tracer: &BoxedTracer, claimed: &Claimed) -> Self {
        let message = &claimed.message;
        let builder = tracer.span_builder(format!("process {}", message.queue));
        let builder = builder.with_kind(SpanKind::Consumer);
        let (builder, parent) = match carried(&message.headers) {
            None => (builder, Context::new()),
            Some(creator) => {
                let parent = match claimed.attempt {
                    1 => Context::new().with_remote_span_context(creator.clone()),
                    _ => Context::new(),
                };
                (builder.with_links(vec![Link::with_context(creator)]), parent)
            }
        };
        let mut span = tracer.build_with_context(builder, &parent);
        if span.is_recording() {
            span.set_attributes(attributes(claimed));
        }
        Self { context: Context::current_with_span(span), ended: false }
    }

    /// The context in which the handler works.
    pub(crate) fn context(&self) -> Context {
        self.context.clone()
    }

    /// The message as its handler sees it: its headers name this span, so all that they are copied to is created by it.
    pub(crate) fn carried_by<'a>(&self, claimed: &'a Claimed) -> Cow<'a, Claimed> {
        if !self.context.span().span_context().is_valid() {
            return Cow::Borrowed(claimed);
        }
        let mut claimed = claimed.clone();
        self.hand_on(&mut claimed.message.headers);
        Cow::Owned(claimed)
    }

    /// Ends it with the verdict. Messages that the verdict enqueues and that carry no trace get this one.
    pub(crate) fn end(mut self, verdict: &mut Verdict) {
        let span = self.context.span();
        let (word, failed) = match verdict {
            Verdict::Ack { emit } => {
                let untraced = emit.iter_mut().filter(|child| child.headers.get("traceparent").is_none());
                untraced.for_each(|child| self.hand_on(&mut child.headers));
                ("ack", false)
            }
            Verdict::Nack { .. } => ("nack", true),
            Verdict::Bury { .. } => ("bury", true),
            Verdict::Postpone { .. } => ("postpone", false),
            Verdict::Release => ("release", false),
        };
        span.set_attribute(KeyValue::new("claimstream.verdict", word));
        if failed {
            fail(&self.context, word);
        }
        span.end();
        self.ended = true;
    }

    /// Headers that have no room for it keep what they have.
    fn hand_on(&self, headers: &mut Headers) {
        let _ = carry(headers, self.context.span().span_context());
    }
}

impl Drop for ProcessSpan {
    fn drop(&mut self) {
        if !self.ended {
            fail(&self.context, "unfinished");
            self.context.span().end();
        }
    }
}

fn attributes(claimed: &Claimed) -> Vec<KeyValue> {
    let message = &claimed.message;
    let mut attributes = of_operation(&message.queue, "process", "process");
    attributes.push(KeyValue::new("messaging.message.id", message.id.to_string()));
    let shard = message.shard.number();
    attributes.push(KeyValue::new("messaging.destination.partition.id", shard.to_string()));
    attributes.push(KeyValue::new("claimstream.attempt", i64::from(claimed.attempt)));
    attributes
}

/// A reason may hold personal data, so the kind of failure is all that is traced.
fn fail(context: &Context, word: &'static str) {
    let span = context.span();
    span.set_attribute(error_type(word));
    span.set_status(Status::error(""));
}
