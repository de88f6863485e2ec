//! What a message costs whose trace is not sent.
//! Promise: a message whose trace is not sampled is not copied and keeps no span and no attributes, and
//! nothing that follows from it is sampled
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    borrow::Cow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::SystemTime,
};

use async_trait::async_trait;
use claimstream_domain::{
    ClaimId, Claimed, Headers, Locator, Message, MessageId, NewMessage, Payload, QueueName, Receipt,
    RunPlace, Shard, Verdict,
};
use claimstream_opentelemetry::{TracedBatchHandler, TracedHandler, current_traceparent};
use claimstream_ports::{BatchHandler, Handler, Verdicts};
use futures::executor::block_on;
use opentelemetry::{
    Context, InstrumentationScope, KeyValue, SpanId, TraceFlags, TraceId, global,
    trace::{Span, SpanBuilder, SpanContext, Status, TraceState, Tracer, TracerProvider},
};
use uuid::Uuid;

/// A provider whose sampler drops every trace. It counts its spans, and each call that a dropped span can do without.
#[derive(Clone, Default)]
struct Drops(Arc<Counts>);

#[derive(Default)]
struct Counts {
    begun: AtomicUsize,
    kept: AtomicUsize,
    needless_calls: AtomicUsize,
}

impl TracerProvider for Drops {
    type Tracer = Self;

    fn tracer_with_scope(&self, _: InstrumentationScope) -> Self {
        self.clone()
    }
}

impl Tracer for Drops {
    type Span = Dropped;

    fn build_with_context(&self, builder: SpanBuilder, _: &Context) -> Dropped {
        assert_eq!((&*builder.name, builder.attributes), ("process orders", None));
        let begun = self.0.begun.fetch_add(1, Relaxed) as u64 + 1;
        self.0.kept.fetch_add(1, Relaxed);
        let (trace, span) = (TraceId::from(u128::from(begun)), SpanId::from(begun));
        let ids = SpanContext::new(trace, span, TraceFlags::default(), false, TraceState::default());
        Dropped { ids, counts: Arc::clone(&self.0) }
    }
}

struct Dropped {
    ids: SpanContext,
    counts: Arc<Counts>,
}

impl Dropped {
    fn count_needless_call(&self) {
        self.counts.needless_calls.fetch_add(1, Relaxed);
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.counts.kept.fetch_sub(1, Relaxed);
    }
}

impl Span for Dropped {
    fn add_event_with_timestamp<T: Into<Cow<'static, str>>>(
        &mut self,
        _: T,
        _: SystemTime,
        _: Vec<KeyValue>,
    ) {
        self.count_needless_call();
    }

    fn span_context(&self) -> &SpanContext {
        &self.ids
    }

    fn is_recording(&self) -> bool {
        false
    }

    fn set_attribute(&mut self, _: KeyValue) {
        self.count_needless_call();
    }

    fn set_status(&mut self, _: Status) {
        self.count_needless_call();
    }

    fn update_name<T: Into<Cow<'static, str>>>(&mut self, _: T) {
        self.count_needless_call();
    }

    fn add_link(&mut self, _: SpanContext, _: Vec<KeyValue>) {
        self.count_needless_call();
    }

    fn end_with_timestamp(&mut self, _: SystemTime) {
        self.count_needless_call();
    }
}

/// What a handler has seen of a message: where it lies, its headers, and the span that is current.
#[derive(PartialEq, Eq, Debug)]
struct Seen {
    place: usize,
    traceparent: Option<String>,
    current: Option<String>,
}

/// Keeps what it sees, and acks with a message that has no headers and one that has those of its parent. No span may be kept by then.
#[derive(Clone)]
struct Sees {
    counts: Arc<Counts>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Sees {
    fn verdict(&self, claimed: &Claimed) -> Verdict {
        assert_eq!(self.counts.kept.load(Relaxed), 0, "a dropped span was kept");
        let traceparent = claimed.message.headers.get("traceparent").map(str::to_owned);
        let place = std::ptr::from_ref(claimed).addr();
        self.seen.lock().unwrap().push(Seen { place, traceparent, current: current_traceparent() });
        let child =
            || NewMessage::new(MessageId::new(Uuid::from_u128(9)), claimed.message.queue.clone(), payload());
        let copy = NewMessage { headers: claimed.message.headers.clone(), ..child() };
        Verdict::Ack { emit: vec![child(), copy] }
    }
}

#[async_trait]
impl Handler for Sees {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        self.verdict(claimed)
    }
}

#[async_trait]
impl BatchHandler for Sees {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        batch.iter().enumerate().for_each(|(at, claimed)| verdicts.give(at, self.verdict(claimed)));
    }
}

#[derive(Default)]
struct Given(Mutex<Vec<Verdict>>);

impl Verdicts for Given {
    fn give(&self, _: usize, verdict: Verdict) {
        self.0.lock().unwrap().push(verdict);
    }
}

fn payload() -> Payload {
    Payload::new("text/plain", vec![7; 500]).unwrap()
}

fn claimed(traceparent: Option<&str>) -> Claimed {
    let mut headers = Headers::new();
    traceparent.into_iter().for_each(|it| headers.set_trace(it, None).unwrap());
    let (id, queue) = (MessageId::new(Uuid::from_u128(7)), QueueName::new("orders").unwrap());
    let (shard, claim) = (Shard::from_number(3), ClaimId::from_uuid(Uuid::from_u128(8)));
    let receipt = Receipt { message: id, queue: queue.clone(), shard, claim, locator: Locator(0) };
    let message = Message { id, queue, shard, ordering_key: None, headers, payload: payload() };
    let (place, waited) = (RunPlace::Alone, std::time::Duration::ZERO);
    Claimed { message, receipt, attempt: 1, last_error: None, place, waited }
}

fn traceparents(verdict: &Verdict) -> Vec<Option<&str>> {
    let Verdict::Ack { emit } = verdict else { panic!("{verdict:?}") };
    emit.iter().map(|child| child.headers.get("traceparent")).collect()
}

/// The `number`-th span of a provider.
fn span(number: u32) -> String {
    format!("00-{number:032x}-{number:016x}-00")
}

/// The tests share the global provider, so one after another has it.
static ALONE: Mutex<()> = Mutex::new(());

fn handler() -> (Drops, Sees) {
    let drops = Drops::default();
    global::set_tracer_provider(drops.clone());
    let sees = Sees { counts: Arc::clone(&drops.0), seen: Arc::default() };
    (drops, sees)
}

fn asked_once_for_each(drops: &Drops, messages: usize) {
    assert_eq!(drops.0.begun.load(Relaxed), messages);
    assert_eq!(drops.0.needless_calls.load(Relaxed), 0, "a dropped span was asked for something");
}

const UNSENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
const SENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Guard: a span that the sampler drops is not kept | src/process_span.rs `begin`: it becomes the current
/// span as one that is sent
/// Guard: a message whose trace is not sent is not copied | src/process_span.rs `is_to_be_carried`: every
/// valid span is
#[test]
fn a_message_whose_trace_is_not_sent_is_handed_on_as_it_is_and_leaves_its_ids_to_what_it_enqueues() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (drops, sees) = handler();
    let traced = TracedHandler::new(sees.clone());
    let messages = [claimed(None), claimed(Some(UNSENT))];
    let verdicts = [0, 1].map(|at| block_on(traced.handle(&messages[at])));
    let [one, other] = [span(1), span(2)];
    assert_eq!(traceparents(&verdicts[0]), [Some(&*one), Some(&*one)]);
    assert_eq!(traceparents(&verdicts[1]), [Some(&*other), Some(UNSENT)]);
    let seen = |at: usize, traceparent: Option<&str>, current: String| Seen {
        place: std::ptr::from_ref(&messages[at]).addr(),
        traceparent: traceparent.map(str::to_owned),
        current: Some(current),
    };
    assert_eq!(*sees.seen.lock().unwrap(), [seen(0, None, one), seen(1, Some(UNSENT), other)]);
    asked_once_for_each(&drops, 2);
}

#[test]
fn a_batch_whose_traces_are_not_sent_is_handed_on_as_it_is() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (drops, sees) = handler();
    let batch = [claimed(None), claimed(Some(UNSENT)), claimed(None)];
    let given = Given::default();
    block_on(TracedBatchHandler::new(sees.clone()).handle_batch(&batch, &given));
    let places: Vec<_> = sees.seen.lock().unwrap().iter().map(|seen| seen.place).collect();
    assert_eq!(places, [0, 1, 2].map(|at| std::ptr::from_ref(&batch[at]).addr()));
    assert_eq!(traceparents(&given.0.lock().unwrap()[2]), [Some(&*span(3)), Some(&*span(3))]);
    asked_once_for_each(&drops, 3);
}

/// Guard: headers that mark a trace as sampled are corrected | src/process_span.rs `is_to_be_carried`: no
/// dropped span is
#[test]
fn a_sampler_that_drops_a_trace_that_was_sent_so_far_is_obeyed_by_all_that_follows() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (drops, sees) = handler();
    let verdict = block_on(TracedHandler::new(sees.clone()).handle(&claimed(Some(SENT))));
    assert_eq!(traceparents(&verdict), [Some(&*span(1)), Some(&*span(1))]);
    assert_eq!(sees.seen.lock().unwrap()[0].traceparent, Some(span(1)));
    asked_once_for_each(&drops, 1);
}

/// Guard: a creator's sampling decision counts on the first attempt alone | src/process_span.rs `begin`: on
/// every attempt
#[test]
fn a_creator_that_is_obeyed_is_not_asked_about_again_and_stays_the_parent_of_what_follows() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (drops, sees) = handler();
    let messages = [claimed(Some(UNSENT)), Claimed { attempt: 2, ..claimed(Some(UNSENT)) }];
    let traced = TracedHandler::new(sees.clone()).obeying_creators();
    let verdicts = [0, 1].map(|at| block_on(traced.handle(&messages[at])));
    assert_eq!(traceparents(&verdicts[0]), [Some(UNSENT), Some(UNSENT)]);
    assert_eq!(traceparents(&verdicts[1]), [Some(&*span(1)), Some(UNSENT)]);
    let current: Vec<_> = sees.seen.lock().unwrap().iter().map(|seen| seen.current.clone()).collect();
    assert_eq!(current, [Some(UNSENT.to_owned()), Some(span(1))]);
    let given = Given::default();
    let batched = TracedBatchHandler::new(sees.clone()).obeying_creators();
    block_on(batched.handle_batch(&messages[..1], &given));
    assert_eq!(traceparents(&given.0.lock().unwrap()[0]), [Some(UNSENT), Some(UNSENT)]);
    asked_once_for_each(&drops, 1);
}
