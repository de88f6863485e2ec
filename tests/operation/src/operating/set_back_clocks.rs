//! What `doctor` says where the database's clock was set back.
//! Promise: `doctor` warns where the database's clock was set back by more than five seconds since a relay was last noted

use std::time::Duration;

use claimstream::Compose;
use claimstream_domain::{NewMessage, PauseNote};
use claimstream_ports::PauseQueues;
use claimstream_sea_orm::{Finding, FrozenClock, Severity};

use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds it on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    let servers = Server::ALL.map(|server| (server.name, server.url(&environment)));
    let servers = servers.into_iter().filter_map(|(name, url)| Some((name, Some(url?))));
    for (store, url) in std::iter::once(("sqlite", None)).chain(servers) {
        let backend = move || match &url {
            None => SeaOrmBackend::sqlite("auto"),
            Some(url) => SeaOrmBackend::server(store, url, "auto"),
        };
        // Guard: doctor finds a clock that was set back | adapters/sea-orm/src/doctor/checks.rs `run`: no
        // `examine_set_back`
        let name = format!("{store}::auto::set_back_clocks::doctor_warns_of_a_clock_that_was_set_back");
        let resumed = backend.clone();
        suite.add_async_test(&name, async move { warns(&backend()).await });
        // Guard: a queue that was resumed stays so while the clock shows an earlier moment |
        // adapters/sea-orm/src/sql/claim/peek.sql: `resumed_at` of queues as well
        let name = format!("{store}::auto::set_back_clocks::a_queue_that_was_resumed_stays_so");
        suite.add_async_test(&name, async move { stays_resumed(&resumed()).await });
    }
}

async fn warns(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let start = Fixture::start().as_micros();
    let store = backend.open(&url, Some(FrozenClock::at(start))).await.expect("open");
    assert_eq!(store.doctor().await.expect("doctor").iter().find(|finding| warned(finding)), None);
    let instance = Instance::new(7, Ports::of(store), Fixture::fresh_queue(), 10);
    instance.finds_nothing().await;
    let most = Duration::from_secs(5);
    for (back, reported) in [
        (Duration::ZERO, None),
        (most, None),
        (most + Duration::from_micros(1), Some("by 5 s or more")),
        (Duration::from_secs(3_600), Some("by 3600 s or more")),
    ] {
        let back = i64::try_from(back.as_micros()).expect("a short time");
        let store = backend.open(&url, Some(FrozenClock::at(start - back))).await.expect("open");
        let found = store.doctor().await.expect("doctor").into_iter().find(warned);
        let detail = found.map(|finding| finding.detail).unwrap_or_default();
        match reported {
            None => assert_eq!(detail, ""),
            Some(reported) => assert!(detail.contains(reported), "{detail}"),
        }
    }
}

async fn stays_resumed(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let start = Fixture::start().as_micros();
    let later = backend.open(&url, Some(FrozenClock::at(start))).await.expect("open");
    let queue = Fixture::fresh_queue();
    let note = PauseNote::new("ann", None).expect("a note");
    assert!(later.pause(&queue, &note).await.expect("paused"));
    assert!(later.resume(&queue, "ann").await.expect("resumed"));
    let hour = 3_600_000_000;
    let earlier = backend.open(&url, Some(FrozenClock::at(start - hour))).await.expect("open");
    let message = NewMessage::json(queue.clone(), &7).expect("a message");
    earlier.enqueue_now(&[message]).await.expect("enqueue");
    Instance::new(7, Ports::of(earlier), queue, 10).take_one().await;
}

fn warned(finding: &Finding) -> bool {
    finding.check == "clock" && finding.severity == Severity::Warning
}
