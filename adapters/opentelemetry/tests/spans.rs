//! What a collector of spans sees.
//! Promise: the span of a message is linked to the span that created it, and is its child on the first
//! attempt alone; no payload, recipient or reason is traced
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{sync::Mutex, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    ClaimId, Claimed, Headers, Locator, Message, MessageId, NewMessage, Payload, QueueName, Receipt,
    RunPlace, Shard, Verdict,
};
use claimstream_opentelemetry::{CallSpans, SendSpan, TracedBatchHandler, TracedHandler, carry_trace};
use claimstream_ports::{BatchHandler, Handler, Measured, StoreCall, StoreErrorKind, Telemetry, Verdicts};
use futures::executor::block_on;
use opentelemetry::{
    Context, Value, global,
    trace::{SpanId, SpanKind, Status, TraceContextExt, Tracer},
};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use uuid::Uuid;

/// The tests share the global provider, so one after another has it.
static ALONE: Mutex<()> = Mutex::new(());

/// The spans that `work` has made, in the order in which they ended.
fn spans(work: impl FnOnce()) -> Vec<SpanData> {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter.clone()).build();
    global::set_tracer_provider(provider.clone());
    work();
    provider.force_flush().unwrap();
    exporter.get_finished_spans().unwrap()
}

/// A message that was created in the span `parent`, claimed for the `attempt`-th time.
fn claimed(parent: &str, attempt: u32) -> Claimed {
    let mut headers = Headers::new();
    headers.set_trace(parent, None).unwrap();
    let (id, queue) = (MessageId::new(Uuid::from_u128(7)), QueueName::new("orders").unwrap());
    let claim = ClaimId::from_uuid(Uuid::from_u128(8));
    let shard = Shard::from_number(3);
    let receipt = Receipt { message: id, queue: queue.clone(), shard, claim, locator: Locator(0) };
    let message = Message { id, queue, shard, ordering_key: None, headers, payload: payload() };
    Claimed { message, receipt, attempt, last_error: None, place: RunPlace::Alone, waited: Duration::ZERO }
}

fn payload() -> Payload {
    Payload::new("text/plain", b"secret".to_vec()).unwrap()
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CREATOR: &str = "b7ad6b7169203331";

fn parent() -> String {
    format!("00-{TRACE}-{CREATOR}-01")
}

/// Acks with a message that has the headers of its parent, and one that has none.
struct Emits(Mutex<Vec<String>>);

impl Emits {
    fn verdict(&self, claimed: &Claimed) -> Verdict {
        let trace = claimed.message.headers.get("traceparent").unwrap();
        self.0.lock().unwrap().push(trace.to_owned());
        let child =
            || NewMessage::new(MessageId::new(Uuid::from_u128(9)), claimed.message.queue.clone(), payload());
        let own = NewMessage { headers: claimed.message.headers.clone(), ..child() };
        Verdict::Ack { emit: vec![own, child()] }
    }
}

#[async_trait]
impl Handler for Emits {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let current = Context::current().span().span_context().span_id();
        assert!(claimed.message.headers.get("traceparent").unwrap().contains(&current.to_string()));
        self.verdict(claimed)
    }
}

/// Fails the first message, gives none for the second, and acks the others.
#[async_trait]
impl BatchHandler for Emits {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        for (index, claimed) in batch.iter().enumerate() {
            match index {
                0 => verdicts.give(0, Verdict::nack("ann@example.com is full")),
                1 => {}
                _ => verdicts.give(index, self.verdict(claimed)),
            }
        }
        verdicts.give(batch.len(), Verdict::ack());
        verdicts.give(0, Verdict::ack());
    }
}

#[derive(Default)]
struct Given(Mutex<Vec<(usize, Verdict)>>);

impl Verdicts for Given {
    fn give(&self, index: usize, verdict: Verdict) {
        self.0.lock().unwrap().push((index, verdict));
    }
}

fn attribute(span: &SpanData, key: &str) -> Option<String> {
    span.attributes.iter().find(|one| one.key.as_str() == key).map(|one| match &one.value {
        Value::String(text) => text.to_string(),
        other => other.to_string(),
    })
}

fn traceparents(verdict: &Verdict) -> Vec<String> {
    let Verdict::Ack { emit } = verdict else { panic!("{verdict:?}") };
    emit.iter().map(|child| child.headers.get("traceparent").unwrap().to_owned()).collect()
}

fn names(span: &SpanData) -> String {
    format!("00-{}-{}-01", span.span_context.trace_id(), span.span_context.span_id())
}

#[test]
fn a_first_attempt_is_a_child_of_the_span_that_created_the_message_and_hands_itself_on() {
    let mut verdict = None;
    let spans = spans(|| {
        let handler = TracedHandler::new(Emits(Mutex::default()));
        verdict = Some(block_on(handler.handle(&claimed(&parent(), 1))));
    });
    let [span] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((&*span.name, &span.span_kind), ("process orders", &SpanKind::Consumer));
    assert_eq!(span.span_context.trace_id().to_string(), TRACE);
    assert_eq!(span.parent_span_id, SpanId::from_hex(CREATOR).unwrap());
    assert_eq!(span.links.iter().next().unwrap().span_context.span_id().to_string(), CREATOR);
    for (key, value) in [
        ("messaging.system", "claimstream"),
        ("messaging.destination.name", "orders"),
        ("messaging.destination.partition.id", "3"),
        ("messaging.operation.type", "process"),
        ("messaging.message.id", "00000000-0000-0000-0000-000000000007"),
        ("claimstream.attempt", "1"),
        ("claimstream.verdict", "ack"),
    ] {
        assert_eq!(attribute(span, key).as_deref(), Some(value), "{key}");
    }
    assert_eq!(traceparents(&verdict.unwrap()), [names(span), names(span)]);
}

#[test]
fn a_later_attempt_begins_a_trace_of_its_own_and_is_linked() {
    let spans = spans(|| {
        let handler = TracedHandler::new(Emits(Mutex::default()));
        block_on(handler.handle(&claimed(&parent(), 2)));
    });
    assert_ne!(spans[0].span_context.trace_id().to_string(), TRACE);
    assert_eq!(spans[0].parent_span_id, SpanId::INVALID);
    assert_eq!(spans[0].links.iter().next().unwrap().span_context.trace_id().to_string(), TRACE);
}

#[test]
fn each_message_of_a_batch_has_its_span_and_no_reason_is_traced() {
    let given = Given::default();
    let spans = spans(|| {
        let batch = [1, 1, 1].map(|attempt| claimed(&parent(), attempt));
        block_on(TracedBatchHandler::new(Emits(Mutex::default())).handle_batch(&batch, &given));
    });
    let ends: Vec<_> = spans
        .iter()
        .map(|span| {
            (attribute(span, "claimstream.verdict"), attribute(span, "error.type"), span.status.clone())
        })
        .collect();
    let word = |text: &str| Some(text.to_owned());
    assert_eq!(
        ends,
        [
            (word("nack"), word("nack"), Status::error("")),
            (word("ack"), None, Status::Unset),
            (None, word("unfinished"), Status::error("")),
        ]
    );
    assert!(!format!("{spans:?}").contains("example.com") && !format!("{spans:?}").contains("secret"));
    let given = given.0.into_inner().unwrap();
    let order: Vec<_> = given.iter().map(|(index, _)| *index).collect();
    assert_eq!(order, [0, 2, 3, 0], "every verdict goes on");
    assert_eq!(traceparents(&given[1].1), [names(&spans[1]), names(&spans[1])]);
}

#[test]
fn without_a_provider_a_message_keeps_its_headers() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    global::set_tracer_provider(opentelemetry::trace::noop::NoopTracerProvider::new());
    let handler = Emits(Mutex::default());
    let given = Given::default();
    let batch = [1, 1, 1].map(|attempt| claimed(&parent(), attempt));
    let handler = TracedBatchHandler::new(handler);
    block_on(handler.handle_batch(&batch, &given));
    let given = given.0.into_inner().unwrap();
    let Verdict::Ack { emit } = &given[1].1 else { panic!("{given:?}") };
    assert_eq!(emit[0].headers.get("traceparent"), Some(&*parent()));
}

#[test]
fn an_enqueue_carries_the_current_span() {
    let mut headers = Headers::new();
    let spans = spans(|| {
        global::tracer("test").in_span("checkout", |_| carry_trace(&mut headers).unwrap());
    });
    assert_eq!(headers.get("traceparent"), Some(&*names(&spans[0])));
}

#[test]
fn an_enqueue_may_have_a_span_of_its_own_that_its_message_carries() {
    let message = || {
        let queue = QueueName::new("orders").unwrap();
        NewMessage::new(MessageId::new(Uuid::from_u128(7)), queue, payload())
    };
    let (mut kept, mut lost) = (message(), message());
    let spans = spans(|| {
        global::tracer("test").in_span("checkout", |_| {
            SendSpan::begin(&mut kept).unwrap().end();
            drop(SendSpan::begin(&mut lost).unwrap());
        });
    });
    let checkout = spans[2].span_context.span_id();
    for (span, message) in spans.iter().zip([&kept, &lost]) {
        assert_eq!((&*span.name, &span.span_kind), ("send orders", &SpanKind::Producer));
        assert_eq!(span.parent_span_id, checkout);
        assert_eq!(message.headers.get("traceparent"), Some(&*names(span)));
        assert_eq!(attribute(span, "messaging.operation.type").as_deref(), Some("send"));
    }
    assert_eq!((&spans[0].status, attribute(&spans[0], "error.type")), (&Status::Unset, None));
    assert!(matches!(spans[1].status, Status::Error { .. }));
    assert_eq!(attribute(&spans[1], "error.type").as_deref(), Some("unfinished"));
}

#[test]
fn claims_that_bring_something_and_settlements_are_spans_with_their_time() {
    let queue = &QueueName::new("orders").unwrap();
    let took = Duration::from_millis(40);
    let spans = spans(|| {
        let (call, kind) = (StoreCall::Settle, StoreErrorKind::Unavailable);
        for measured in [
            Measured::Claimed { queue, messages: 0, took },
            Measured::Claimed { queue, messages: 3, took },
            Measured::Settling { queue, messages: 2, took },
            Measured::Failed { queue, call, kind, took },
            Measured::Failed { queue, call: StoreCall::Renew, kind, took },
        ] {
            CallSpans.record(measured);
        }
    });
    let seen: Vec<_> = spans
        .iter()
        .map(|span| {
            let count = attribute(span, "messaging.batch.message_count");
            (&*span.name, count, attribute(span, "error.type"))
        })
        .collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        seen,
        [
            ("receive orders", text("3"), None),
            ("settle orders", text("2"), None),
            ("settle orders", None, text("unavailable")),
        ]
    );
    for span in &spans {
        assert_eq!(span.span_kind, SpanKind::Client);
        assert_eq!(span.end_time.duration_since(span.start_time).unwrap(), took);
    }
}
