//! What operators see.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex},
    thread::{self, ThreadId},
    time::Duration,
};

use claimstream::{RelayConfig, Timer, Verdict, handler_fn};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use crate::play::{Answer, Bench, Play};

/// Notes every span with its fields, and every value, of one thread.
///
/// It is installed for all threads, because whether a callsite is of interest is decided by the first thread that comes
/// by.
#[derive(Clone)]
struct Notes {
    thread: ThreadId,
    noted: Arc<Mutex<Noted>>,
}

impl Notes {
    fn of_this_thread() -> Self {
        let notes = Self { thread: thread::current().id(), noted: Arc::default() };
        tracing::subscriber::set_global_default(notes.clone()).unwrap();
        notes
    }

    fn note(&self, note: impl FnOnce(&mut Noted)) {
        if thread::current().id() == self.thread {
            note(&mut self.noted.lock().unwrap());
        }
    }
}

#[derive(Default)]
struct Noted {
    spans: BTreeSet<String>,
    values: String,
}

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("claimstream")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.note(|noted| {
            let fields: Vec<_> = span.metadata().fields().iter().map(|field| field.name()).collect();
            noted.spans.insert(format!("{}({})", span.metadata().name(), fields.join(" ")));
            span.record(noted);
        });
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        self.note(|noted| values.record(noted));
    }

    fn event(&self, event: &Event<'_>) {
        self.note(|noted| event.record(noted));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Visit for Noted {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.values += &format!("{}={value:?}\n", field.name());
    }
}

#[test]
fn every_verb_has_a_span_of_a_stable_name_and_no_payload_is_traced() {
    let notes = Notes::of_this_thread();
    use_every_verb();
    let noted = notes.noted.lock().unwrap();
    let spans: Vec<_> = noted.spans.iter().map(String::as_str).collect();
    assert_eq!(
        spans,
        [
            "claim(queue claim asked)",
            "close(queue)",
            "handle(queue message_id attempt traceparent)",
            "renew(queue count lost)",
            "settle(queue count)",
        ]
    );
    assert!(noted.values.contains("class=never_ended"), "a dead letter is not traced with its class");
    assert!(noted.values.contains("attempt=30") && noted.values.contains("settled=Some(Accepted)"));
    assert!(!noted.values.contains(SECRET), "a payload was traced");
}

/// What stands in every payload, and in the reasons made of it.
const SECRET: &str = "secret";

fn use_every_verb() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1, 1, 30])]), Bench::default());
    let timer = play.timer.clone();
    let handler = handler_fn(move |claimed| {
        let timer = timer.clone();
        async move {
            timer.sleep(Duration::from_secs(15)).await;
            let payload = String::from_utf8_lossy(claimed.message.payload.bytes());
            assert!(payload.contains(SECRET));
            Verdict::nack(payload)
        }
    });
    let (relay, timer) = (play.relay(RelayConfig::default()), play.timer.clone());
    let pipeline = relay.pipeline("orders", handler).unwrap();
    let task = bench.start(pipeline.run_until(async move { timer.sleep(Duration::from_secs(20)).await }));
    assert_eq!(bench.finish(&play.timer, task).unwrap().nacked, 2);
    let task = bench.start(relay.claims("orders").unwrap().close());
    assert_eq!(bench.finish(&play.timer, task).unwrap(), 0);
}
