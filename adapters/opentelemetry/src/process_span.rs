use std::borrow::Cow;

use claimstream_domain::{Claimed, Headers, Verdict};
use opentelemetry::{
    Context, KeyValue,
    global::BoxedTracer,
    trace::{Link, Span, SpanContext, SpanKind, Status, TraceContextExt, Tracer},
};

use crate::{
    attributes::{error_type, of_operation},
    span_name,
    trace_context::{carried, carry},
};

/// The span of one attempt at one message. Without a verdict it ends as one that was not finished.
pub(crate) struct ProcessSpan {
    state: State,
    /// Whether the headers of the message say that its trace is sent, which this span must take back if it is not.
    is_creator_sent: bool,
}

enum State {
    Recorded(Context),
    /// The sampler drops it. Its ids are all that is left, for what the handler enqueues and calls.
    Dropped(SpanContext),
    Ended,
}

/// Who decides whether a span is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Deciding {
    /// The sampler, for each message.
    #[default]
    Sampler,
    /// The span that created the message, if it says that its trace is not sent; the sampler for all others.
    Creator,
}

impl ProcessSpan {
    /// Begins it, linked to the span that created the message. The first attempt is that span's child; a later one may come hours
    /// after, so it begins a trace of its own.
    ///
    /// A sampler sees its name, kind and links; attributes are made for those that are sent.
    pub(crate) fn begin(tracer: &BoxedTracer, deciding: Deciding, claimed: &Claimed) -> Self {
        let creator = carried(&claimed.message.headers);
        let is_creator_sent = creator.as_ref().is_some_and(SpanContext::is_sampled);
        let is_first = claimed.attempt == 1;
        let (mut parent, mut links) = (Context::new(), None);
        if let Some(creator) = creator {
            if deciding == Deciding::Creator && is_first && !is_creator_sent {
                return Self { state: State::Dropped(creator), is_creator_sent };
            }
            if is_first {
                parent = parent.with_remote_span_context(creator.clone());
            }
            links = Some(vec![Link::with_context(creator)]);
        }
        let mut builder = tracer.span_builder(span_name::process(&claimed.message.queue));
        builder.span_kind = Some(SpanKind::Consumer);
        builder.links = links;
        let mut span = tracer.build_with_context(builder, &parent);
        if !span.is_recording() {
            return Self { state: State::Dropped(span.span_context().clone()), is_creator_sent };
        }
        span.set_attributes(attributes(claimed));
        Self { state: State::Recorded(Context::current_with_span(span)), is_creator_sent }
    }

    /// The context in which the handler works.
    pub(crate) fn context(&self) -> Context {
        match &self.state {
            State::Recorded(context) => context.clone(),
            State::Dropped(ids) => {
                Context::map_current(|current| current.with_remote_span_context(ids.clone()))
            }
            State::Ended => Context::current(),
        }
    }

    /// Whether the headers of the message must name this span. Those of a message whose span is dropped stay, unless they say that the trace
    /// is sent: a copy of the message costs as much as the span.
    pub(crate) fn is_to_be_carried(&self) -> bool {
        match &self.state {
            State::Recorded(_) => true,
            State::Dropped(ids) => self.is_creator_sent && ids.is_valid(),
            State::Ended => false,
        }
    }

    /// The message as its handler sees it: its headers name this span, so all that they are copied to is created by it.
    pub(crate) fn carried_by<'a>(&self, claimed: &'a Claimed) -> Cow<'a, Claimed> {
        if !self.is_to_be_carried() {
            return Cow::Borrowed(claimed);
        }
        let mut claimed = claimed.clone();
        self.hand_on(&mut claimed.message.headers);
        Cow::Owned(claimed)
    }

    /// Ends it with the verdict. Messages that the verdict enqueues and that carry no trace get this one.
    pub(crate) fn end(&mut self, verdict: &mut Verdict) {
        if let Verdict::Ack { emit } = verdict {
            let untraced = emit.iter_mut().filter(|child| child.headers.get("traceparent").is_none());
            untraced.for_each(|child| self.hand_on(&mut child.headers));
        }
        if let State::Recorded(context) = &self.state {
            end_as(context, verdict);
        }
        self.state = State::Ended;
    }

    /// Headers that have no room for it keep what they have.
    fn hand_on(&self, headers: &mut Headers) {
        let _ = match &self.state {
            State::Recorded(context) => carry(headers, context.span().span_context()),
            State::Dropped(ids) => carry(headers, ids),
            State::Ended => Ok(()),
        };
    }
}

impl Drop for ProcessSpan {
    fn drop(&mut self) {
        if let State::Recorded(context) = &self.state {
            fail(context, "unfinished");
            context.span().end();
        }
    }
}

fn end_as(context: &Context, verdict: &Verdict) {
    let (word, failed) = match verdict {
        Verdict::Ack { .. } => ("ack", false),
        Verdict::Nack { .. } => ("nack", true),
        Verdict::Bury { .. } => ("bury", true),
        Verdict::Postpone { .. } => ("postpone", false),
        Verdict::Release => ("release", false),
    };
    let span = context.span();
    span.set_attribute(KeyValue::new("claimstream.verdict", word));
    if failed {
        fail(context, word);
    }
    span.end();
}

fn attributes(claimed: &Claimed) -> Vec<KeyValue> {
    let message = &claimed.message;
    let mut attributes = of_operation(&message.queue, "process", "process");
    let id = message.id.uuid().hyphenated().encode_lower(&mut [0; 36]).to_owned();
    attributes.push(KeyValue::new("messaging.message.id", id));
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
