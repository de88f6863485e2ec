//! What a store tells its telemetry.
//! Promise: a store measures what it enqueues and sweeps, its waits for connections, and the transactions
//! that it begins again

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream::{Compose, Relay, RelayConfig};
use claimstream_domain::{NewMessage, QueueName, Retention};
use claimstream_ports::{Measured, StoreErrorKind, Telemetry};
use claimstream_sea_orm::{Dialect, FrozenClock, OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::TryStreamExt;
use sea_orm::ConnectionTrait;

use crate::{Fixture, Server, Suite, backend::SeaOrmBackend};

/// Adds the test on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    add(suite, "sqlite", SeaOrmBackend::sqlite("preemptive_update"));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        add(suite, server.name, SeaOrmBackend::server(server.name, &url, "preemptive_update"));
    }
}

fn add(suite: &mut Suite, store: &str, backend: SeaOrmBackend) {
    let name = format!("{store}::telemetry::a_store_measures_what_it_does_by_itself");
    suite.add_async_test(&name, async move { measures_what_it_does_by_itself(&backend).await });
}

/// How often each thing happened.
#[derive(Default, Debug)]
struct Recorded(Mutex<BTreeMap<String, u64>>);

impl Telemetry for Recorded {
    fn record(&self, measured: Measured<'_>) {
        let (what, count) = match measured {
            Measured::Enqueued { queue, messages } => (format!("enqueued {queue}"), messages as u64),
            Measured::Swept { rows } => ("swept".into(), rows),
            Measured::Restarted { operation } => (format!("restarted {operation}"), 1),
            Measured::WaitedForConnection { pool, .. } => (format!("connection {}", pool.as_str()), 1),
            Measured::Claimed { messages, .. } => ("claimed".into(), messages as u64),
            Measured::Waited { waits, .. } => ("waited".into(), waits.len() as u64),
            _ => return,
        };
        *self.0.lock().expect("no panic").entry(what).or_default() += count;
    }
}

impl Recorded {
    fn count(&self, what: &str) -> u64 {
        self.0.lock().expect("no panic").get(what).copied().unwrap_or_default()
    }
}

async fn measures_what_it_does_by_itself(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let recorded = Arc::<Recorded>::default();
    let telemetry: Arc<dyn Telemetry> = recorded.clone();
    let clock = FrozenClock::at(Fixture::start().as_micros());
    let options = OpenOptions {
        telemetry: Some(Arc::clone(&telemetry)),
        retention: Retention::DELETE,
        frozen_clock: Some(clock.clone()),
        ..OpenOptions::default()
    };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let message =
        |queue: &str, n| NewMessage::json(QueueName::new(queue).expect("a name"), &n).expect("a message");
    let keyed = |n| message("mails", n).unique_by("once".parse().expect("a key"));
    let all = [message("orders", 1), message("orders", 2), keyed(3), keyed(4)];
    outbox.enqueue_now(&all).await.expect("enqueue");
    assert_eq!(
        (recorded.count("enqueued orders"), recorded.count("enqueued mails")),
        (2, 1),
        "one was known"
    );
    assert!(recorded.count("connection callers") >= 1, "{recorded:?}");
    // A sweep leaves a body whose age does not prove that it was stored before its message was settled.
    clock.advance(Duration::from_secs(60));

    let config = RelayConfig { settle_age: Duration::from_millis(1), ..RelayConfig::default() };
    let relay = Relay::new(Arc::new(outbox.clone()), TokioTimer::new(), config).with_telemetry(telemetry);
    let mut claims = relay.claims("orders").expect("claims");
    for _ in 0..2 {
        claims.try_next().await.expect("a claim").expect("a message").ack().await.expect("ack");
    }
    claims.close().await.expect("close");
    assert_eq!((recorded.count("claimed"), recorded.count("waited")), (2, 2));
    let swept = outbox.sweep().await.expect("sweep");
    assert_eq!((swept.bodies, recorded.count("swept")), (2, 2));
    deadlocks_are_measured(&outbox, &recorded).await;
}

/// A trigger plays a deadlock, because real ones come when they like. SQLite knows no such error.
async fn deadlocks_are_measured(outbox: &SeaOrmOutbox, recorded: &Recorded) {
    if outbox.dialect() != Dialect::MySql {
        return;
    }
    let trigger = "CREATE TRIGGER deadlock BEFORE INSERT ON claimstream_message FOR EACH ROW \
                   SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'played'";
    outbox.connection().execute_unprepared(trigger).await.expect("a trigger");
    let message = NewMessage::json(QueueName::new("orders").expect("a name"), &1).expect("a message");
    let refused = outbox.enqueue_now(&[message]).await.expect_err("a deadlock each time");
    assert_eq!(refused.kind(), StoreErrorKind::Transient);
    assert_eq!(recorded.count("restarted enqueue"), 5, "{recorded:?}");
    assert_eq!(recorded.count("enqueued orders"), 2, "what failed is not counted");
}
