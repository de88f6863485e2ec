//! Times of the pure functions that are called once for each message, claim or delivery.
//!
//! `cargo bench -p claimstream-criterion` measures all of them, and with a name after it those that have it in theirs. Criterion compares each with
//! the run before.
#![allow(clippy::unwrap_used, reason = "an input that is refused is a fault of the bench")]

use std::{hint::black_box, time::Duration};

use claimstream_domain::{
    ErrorClass, Fingerprint, Found, Headers, Message, MessageId, OrderingKey, Pace, Pacing, Payload,
    QueueName, Reason, RetryPolicy, ShardCount, Timestamp, Verdict, decide,
    notification::{
        Channel, Priority,
        consent::{Asked, ConsentRules, Preferences, QuietHours, TimeZone, consent},
        message_id,
    },
    publishing::{EventDescription, EventMode, Route},
    timer_event::Schedule,
};
use criterion::Criterion;
use uuid::Uuid;

/// 2024-07-03 21:15 UTC, in microseconds.
const NOW: i64 = 1_720_041_300_000_000;
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for group in [deciding, identifying, headers, publishing, notifying, scheduling] {
        group(&mut criterion);
    }
    criterion.final_summary();
}

/// What follows a claim and an attempt.
fn deciding(c: &mut Criterion) {
    let (policy, pacing) = (RetryPolicy::default(), Pacing::default());
    c.bench_function("retry_delay", |b| b.iter(|| policy.delay(black_box(7), black_box(42))));
    c.bench_function("decide_nack", |b| {
        b.iter(|| decide(black_box(Verdict::nack("503")), black_box(7), &policy, black_box(42)))
    });
    c.bench_function("pace_after_nothing", |b| {
        b.iter(|| pacing.after(black_box(Pace::default()), black_box(Found::Nothing), black_box(42)))
    });
    let reason = Reason::new("user u-17 timed out after 30012 ms at 10.0.0.7:8080 for ann@example.com");
    c.bench_function("error_class", |b| b.iter(|| ErrorClass::of(black_box(&reason))));
}

/// What a message is known and found by.
fn identifying(c: &mut Criterion) {
    let (count, id) = (ShardCount::new(16).unwrap(), id());
    let key = OrderingKey::new("customer-4711").unwrap();
    c.bench_function("shard_of_id", |b| b.iter(|| count.shard_of(black_box(id), None)));
    c.bench_function("shard_of_key", |b| b.iter(|| count.shard_of(black_box(id), Some(black_box(&key)))));
    let payload = body();
    c.bench_function("fingerprint_500_bytes", |b| b.iter(|| Fingerprint::of_payload(black_box(&payload))));
    c.bench_function("notification_message_id", |b| {
        b.iter(|| message_id(black_box(id.uuid()), Channel::Email, black_box("user:4711")))
    });
}

/// What is written into the headers of a message, and how near to their limit it is.
fn headers(c: &mut Criterion) {
    c.bench_function("trace_context", |b| {
        b.iter(|| Headers::new().set_trace(black_box(TRACEPARENT), None).unwrap())
    });
    let long = "v".repeat(1_000);
    c.bench_function("headers_of_12_kib", |b| {
        b.iter(|| {
            let mut headers = Headers::new();
            NAMES.iter().for_each(|name| headers.insert(name, black_box(&long)).unwrap());
            headers
        })
    });
}

/// What a relay makes of a message that goes to a broker.
fn publishing(c: &mut Criterion) {
    let event = || EventDescription {
        source: "/shop/{header:region|eu}".parse().unwrap(),
        kind: "order.{queue}".parse().unwrap(),
        subject: Some("{key}".parse().unwrap()),
    };
    let message = message();
    let modes = [
        ("publication_plain", EventMode::Plain),
        ("publication_binary_event", EventMode::Binary(event())),
        ("publication_structured_event", EventMode::Structured(event())),
    ];
    for (name, events) in modes {
        let route = Route { place: "orders.{header:region|eu}.{key}".parse().unwrap(), events };
        c.bench_function(name, |b| b.iter(|| route.publication(black_box(&message)).unwrap()));
    }
}

/// Whether and when a recipient gets a notification.
fn notifying(c: &mut Criterion) {
    let (now, zone) = (Timestamp::from_micros(NOW).unwrap(), TimeZone::new("Europe/Berlin").unwrap());
    let hours: QuietHours = "22:00-08:00".parse().unwrap();
    c.bench_function("quiet_hours_wait", |b| b.iter(|| hours.wait(black_box(now), &zone)));
    let rules = ConsentRules { quiet_hours: Some(hours), ..ConsentRules::default() };
    let preferences = Preferences::default();
    let asked = Asked {
        channel: Channel::Email,
        category: None,
        priority: Priority::default(),
        expires_at: None,
        time_zone: Some(&zone),
    };
    c.bench_function("consent", |b| {
        b.iter(|| consent(black_box(asked), &preferences, None, &rules, black_box(now)))
    });
}

/// When a timer's event is next due.
fn scheduling(c: &mut Criterion) {
    let now = Timestamp::from_micros(NOW).unwrap();
    let every = Schedule::every(Duration::from_secs(300)).unwrap();
    c.bench_function("interval_next", |b| b.iter(|| every.next_after(black_box(now))));
    for (name, expression) in [("cron_next_minutes", "*/5 * * * *"), ("cron_next_leap_day", "30 2 29 2 *")] {
        let cron = Schedule::cron(expression, "Europe/Berlin").unwrap();
        c.bench_function(name, |b| b.iter(|| cron.next_after(black_box(now))));
    }
}

const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

fn id() -> MessageId {
    MessageId::new(Uuid::from_u128(0x019a_c0de_0000_7000_8000_0000_0000_0001))
}

fn body() -> Payload {
    Payload::json(format!("{{\"order\":7,\"note\":\"{}\"}}", "n".repeat(480)))
}

fn message() -> Message {
    let mut headers = Headers::new();
    headers.insert("region", "eu").unwrap();
    headers.set_trace(TRACEPARENT, None).unwrap();
    let (id, key) = (id(), OrderingKey::new("customer-4711").unwrap());
    let shard = ShardCount::new(16).unwrap().shard_of(id, Some(&key));
    Message {
        id,
        queue: QueueName::new("orders").unwrap(),
        shard,
        ordering_key: Some(key),
        headers,
        payload: body(),
    }
}
