//! Sagas, TCC transactions and timer events belong to the trace in which they were begun.
//! Promise: a saga, a TCC transaction and an event of a timer continue the trace that began them, and so do
//! the calls and messages of their steps
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{in_transaction, work};
use claimstream_domain::{
    ByteBudget, ClaimId, ClaimRequest, Claimed, Disposition, InstanceId, Lease, MessageId, NewMessage, Owner,
    Payload, QueueName, Settlement, Verdict,
};
use claimstream_memory::{MemoryStore, MemoryTransaction};
use claimstream_opentelemetry::{TracedHandler, TracedStore, current_traceparent};
use claimstream_ports::{Enqueue, Handler, LockingStrategy, Settlements, Sleep, StoreError, Timer};
use claimstream_steps::{
    saga::{Saga, SagaConfig, SagaId, StepFailure},
    tcc::{
        Branch, BranchCall, Coordinator, CoordinatorConfig, GlobalId, GlobalTransaction, Participant,
        ParticipantError,
    },
    timer_event::{Alarm, EventScheme, Schedule, Tick, TimerEvents},
};
use futures::{FutureExt, executor::block_on, future::ready};
use opentelemetry::{
    Context, global,
    trace::{SpanId, TraceContextExt, Tracer},
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

/// A timer that waits for nothing.
#[derive(Clone, Copy)]
struct NoWait;

impl Timer for NoWait {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> Sleep<'_> {
        Box::pin(ready(()))
    }
}

/// What calls to others have shown as their trace.
type Shown = Arc<Mutex<Vec<Option<String>>>>;

type Home = TracedStore<MemoryStore>;

struct World {
    store: MemoryStore,
    home: Home,
    claims: Mutex<u64>,
}

impl World {
    fn new() -> Self {
        let store = MemoryStore::with_manual_clock();
        Self { home: TracedStore::new(store.clone()), store, claims: Mutex::new(0) }
    }

    /// Claims the one message that is due in a queue.
    fn claim(&self, queue: &str) -> Claimed {
        let mut claims = self.claims.lock().unwrap();
        *claims += 1;
        let instance = InstanceId(7);
        let request = ClaimRequest {
            queue: queue.parse().unwrap(),
            limit: 10,
            budget: ByteBudget::new(1 << 20).unwrap(),
            lease: Lease::new(Duration::from_secs(30)).unwrap(),
            claim: ClaimId::new(instance, *claims),
            owner: Owner::of_process(instance, 1),
            runs: None,
        };
        let mut claimed = block_on(self.store.claim(&request)).unwrap();
        assert_eq!(claimed.len(), 1, "{claimed:?}");
        claimed.remove(0)
    }

    /// A saga with a step that is called, and a step that enqueues a message.
    fn saga(&self, shown: &Shown) -> Saga<u32, Home> {
        let (shown, home, elsewhere) = (Arc::clone(shown), self.home.clone(), self.home.clone());
        Saga::list("transfer", self.home.clone(), Arc::new(NoWait))
            .at(move |_: &u32| elsewhere.clone())
            .step("debit", |_: &MemoryTransaction, _| ready(Ok(())).boxed(), |_, _| ready(Ok(())).boxed())
            .pivot()
            .remote("points", move |_, _| {
                let mut shown = shown.lock().unwrap();
                shown.push(current_traceparent());
                let fails = shown.len() == 1;
                let answer = if fails { Err(StepFailure::transient("away")) } else { Ok(()) };
                ready(answer).boxed()
            })
            .at(move |_| home.clone())
            .step("receipt", {
                let home = self.home.clone();
                move |tx, _| {
                    let home = home.clone();
                    async move {
                        let queue = QueueName::new("mails").map_err(StepFailure::invariant)?;
                        let id = MessageId::new(Uuid::from_u128(9));
                        home.enqueue(tx, &[NewMessage::new(id, queue, Payload::json("{}"))]).await?;
                        Ok(())
                    }
                    .boxed()
                }
            })
            .build(SagaConfig::default())
            .unwrap()
    }
}

fn named<'a>(spans: &'a [SpanData], name: &str) -> &'a SpanData {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name}: {spans:?}"))
}

/// A span as the header `traceparent` names it.
fn header(span: &SpanData) -> String {
    format!("00-{}-{}-01", span.span_context.trace_id(), span.span_context.span_id())
}

fn traceparent(claimed: &Claimed) -> Option<&str> {
    claimed.message.headers.get("traceparent")
}

fn is_child(child: &SpanData, parent: &SpanData) -> bool {
    child.span_context.trace_id() == parent.span_context.trace_id()
        && child.parent_span_id == parent.span_context.span_id()
}

/// What the events of a span say: their name, the step, and its state.
fn events(span: &SpanData) -> Vec<(String, String, String)> {
    let value = |event: &opentelemetry::trace::Event, key: &str| {
        let found = event.attributes.iter().find(|one| one.key.as_str() == key);
        found.map(|one| one.value.to_string()).unwrap_or_default()
    };
    let said = span.events.iter().map(|event| {
        (event.name.to_string(), value(event, "claimstream.step"), value(event, "claimstream.state"))
    });
    said.collect()
}

#[test]
fn a_saga_goes_on_in_the_trace_in_which_it_was_begun() {
    let (world, shown) = (World::new(), Shown::default());
    let mut mail = None;
    let spans = spans(|| {
        let saga = world.saga(&shown);
        global::tracer("test").in_span("checkout", |_| {
            // The call fails, so the check message completes the saga.
            block_on(saga.start(SagaId::new(Uuid::from_u128(7)), "anna", 7)).unwrap();
        });
        world.store.advance(Duration::from_secs(60));
        let check = world.claim("saga:transfer");
        let verdict = block_on(TracedHandler::new(saga).handle(&check));
        assert!(matches!(verdict, Verdict::Ack { .. }), "{verdict:?}");
        mail = Some(world.claim("mails"));
    });
    let (checkout, process) = (named(&spans, "checkout"), named(&spans, "process saga:transfer"));
    assert!(is_child(process, checkout), "{spans:?}");
    let shown = shown.lock().unwrap();
    assert_eq!(
        *shown,
        [Some(header(checkout)), Some(header(process))],
        "calls show the span they are made in"
    );
    assert_eq!(traceparent(&mail.unwrap()), Some(&*header(process)));
    let event = |name: &str, step: &str, state: &str| (name.to_owned(), step.to_owned(), state.to_owned());
    assert_eq!(
        events(checkout),
        [
            event("step begun", "", "1"),
            event("step begun", "debit", "1"),
            event("step changed", "", "2"),
            event("step begun", "points", "3"),
        ]
    );
    assert_eq!(
        events(process),
        [
            event("step changed", "points", "1"),
            event("step begun", "receipt", "1"),
            event("step changed", "", "4")
        ]
    );
    assert!(!format!("{spans:?}").contains("anna"), "{spans:?}");
}

#[test]
fn a_later_look_at_a_saga_is_a_trace_of_its_own_that_is_linked() {
    let (world, shown) = (World::new(), Shown::default());
    let spans = spans(|| {
        let saga = world.saga(&shown);
        global::tracer("test").in_span("checkout", |_| {
            block_on(saga.start(SagaId::new(Uuid::from_u128(7)), "anna", 7)).unwrap();
        });
        world.store.advance(Duration::from_secs(60));
        let check = Claimed { attempt: 2, ..world.claim("saga:transfer") };
        block_on(TracedHandler::new(saga).handle(&check));
    });
    let (checkout, process) = (named(&spans, "checkout"), named(&spans, "process saga:transfer"));
    assert_eq!(process.parent_span_id, SpanId::INVALID);
    assert_eq!(process.links.iter().next().unwrap().span_context.span_id(), checkout.span_context.span_id());
}

/// A participant that notes the trace of each call.
struct Notes(Shown);

#[async_trait]
impl Participant for Notes {
    async fn carry_out(&self, _: &BranchCall) -> Result<(), ParticipantError> {
        self.0.lock().unwrap().push(current_traceparent());
        Ok(())
    }
}

#[test]
fn a_tcc_transaction_goes_on_in_the_trace_in_which_it_was_run() {
    let (world, shown) = (World::new(), Shown::default());
    let spans = spans(|| {
        let coordinator =
            Coordinator::new(Arc::new(world.home.clone()), Arc::new(NoWait), CoordinatorConfig::default())
                .unwrap();
        let coordinator = coordinator.with("stock", Notes(Arc::clone(&shown))).unwrap();
        let queue = coordinator.config().queue.to_string();
        let branch = Branch::new("stock", serde_json::json!({})).unwrap();
        let order = GlobalTransaction::new(GlobalId::new("order-8").unwrap(), [branch]).unwrap();
        global::tracer("test").in_span("order", |_| {
            block_on(coordinator.run(&order)).unwrap();
        });
        let drive = world.claim(&queue);
        block_on(TracedHandler::new(coordinator).handle(&drive));
    });
    let order = named(&spans, "order");
    let process = spans.iter().find(|span| span.name.starts_with("process ")).unwrap();
    assert!(is_child(process, order), "{spans:?}");
    assert_eq!(*shown.lock().unwrap(), [Some(header(order)), Some(header(process))]);
}

#[test]
fn each_event_of_a_timer_is_a_trace_of_its_own_with_its_deadline() {
    let world = World::new();
    let mut next = (None, None);
    let spans = spans(|| {
        let alarm = Alarm::to_queue("alarms".parse().unwrap());
        let hourly = Schedule::every(Duration::from_secs(3_600)).unwrap();
        let scheme = EventScheme::new("bill".parse().unwrap(), hourly, alarm);
        let scheme = scheme.decision("close".parse().unwrap(), |_, _| ready(Ok(())).boxed());
        let store = Arc::new(world.home.clone());
        let timers = TimerEvents::new(store, NoWait, "timers".parse().unwrap()).with(scheme).unwrap();
        global::tracer("test").in_span("start", |_| block_on(timers.start()).unwrap());
        world.store.advance(Duration::from_secs(3_600));
        let tick = world.claim("timers");
        assert_eq!(traceparent(&tick), None, "no event is a part of the start of its program");
        let traced = TracedHandler::new(timers);
        let verdict = block_on(traced.handle(&tick));
        assert!(matches!(verdict, Verdict::Ack { .. }), "{verdict:?}");
        let done = Disposition::Done { emit: vec![] };
        let receipt = tick.receipt.clone();
        block_on(world.store.settle(&[Settlement { receipt, disposition: done }])).unwrap();
        next.0 = Some(serde_json::from_slice::<Tick>(tick.message.payload.bytes()).unwrap());
        world.store.advance(Duration::from_secs(300));
        next.1 = Some(world.claim("timers"));
    });
    let process = named(&spans, "process timers");
    assert_eq!(process.parent_span_id, SpanId::INVALID);
    let (tick, deadline) = (next.0.unwrap(), next.1.unwrap());
    assert_eq!(deadline.message.id, tick.deadline_id());
    assert_eq!(traceparent(&deadline), Some(&*header(process)));
    let steps: Vec<_> = events(process).into_iter().map(|(_, step, _)| step).collect();
    assert_eq!(steps, ["", "decision:close", ""]);
}

#[test]
fn a_message_that_carries_a_trace_keeps_it_and_without_a_span_nothing_is_written() {
    let world = World::new();
    let other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let enqueue = |number: u128, queue: &str, trace: Option<&str>| {
        let mut message = NewMessage::new(
            MessageId::new(Uuid::from_u128(number)),
            queue.parse().unwrap(),
            Payload::json("{}"),
        );
        if let Some(trace) = trace {
            message.headers.set_trace(trace, None).unwrap();
        }
        let (home, message) = (&world.home, &message);
        let done: Result<_, StoreError> = block_on(in_transaction(home, &NoWait, |tx| {
            work(home.enqueue(tx, std::slice::from_ref(message)))
        }));
        done.unwrap();
    };
    let spans = spans(|| {
        enqueue(1, "a", None);
        global::tracer("test").in_span("checkout", |_| {
            assert!(Context::current().span().span_context().is_valid());
            enqueue(2, "b", Some(other));
            enqueue(3, "c", None);
        });
    });
    assert_eq!(traceparent(&world.claim("a")), None);
    assert_eq!(traceparent(&world.claim("b")), Some(other));
    assert_eq!(traceparent(&world.claim("c")), Some(&*header(&spans[0])));
}
