//! What `doctor` says of two strategies on one queue: a mix that runs handlers twice, and a change that is in order.
//! Promise: `doctor` warns of `shard_lease` and another strategy on one queue, and not after an orderly
//! change

use std::{sync::Arc, time::Duration};

use claimstream::Compose;
use claimstream_domain::{Claimed, NewMessage, QueueName, Settled};
use claimstream_ports::StoreError;
use claimstream_sea_orm::{Finding, FrozenClock, SeaOrmOutbox, Severity, Strategy};

use crate::{Fixture, Instance, LEASE, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds it on SQLite and on every server that is here, with each strategy that marks messages.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    add(suite, "sqlite", &["preemptive_update"], SeaOrmBackend::sqlite);
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let marking = server.strategies().iter().filter(|strategy| **strategy != Strategy::ShardLease);
        let marking: Vec<_> = marking.map(|strategy| strategy.name()).collect();
        add(suite, server.name, &marking, move |strategy| SeaOrmBackend::server(server.name, &url, strategy));
    }
}

fn add(
    suite: &mut Suite,
    store: &str,
    marking: &[&'static str],
    backend: impl Fn(&'static str) -> SeaOrmBackend + Send + Sync + 'static,
) {
    let backend = Arc::new(backend);
    for strategy in marking.iter().copied() {
        let name = |what: &str| format!("{store}::{strategy}::strategies::{what}");
        let of = Arc::clone(&backend);
        suite.add_async_test(&name("doctor_warns_of_a_mix"), async move {
            warns_of_a_mix(&Mix::of(&*of, strategy).await).await;
        });
        let of = Arc::clone(&backend);
        suite.add_async_test(&name("doctor_is_content_after_a_change_in_order"), async move {
            is_content_after_a_change(&Mix::of(&*of, strategy).await).await;
        });
        let of = Arc::clone(&backend);
        suite.add_async_test(&name("doctor_warns_for_a_lease_after_a_kill_and_says_so"), async move {
            warns_for_a_lease_after_a_kill(&Mix::of(&*of, strategy).await).await;
        });
    }
}

/// A database that is opened with `shard_lease` and with a strategy that marks messages.
struct Mix {
    leasing: Relaying,
    marking: Relaying,
    clock: FrozenClock,
    // The database goes with it.
    _backend: SeaOrmBackend,
}

struct Relaying {
    outbox: SeaOrmOutbox,
    instance: Instance,
}

impl Mix {
    async fn of(
        backend: &(dyn Fn(&'static str) -> SeaOrmBackend + Send + Sync),
        strategy: &'static str,
    ) -> Self {
        let (leasing, marking) = (backend("shard_lease"), backend(strategy));
        let url = leasing.database().await.expect("a database");
        let (clock, queue) = (FrozenClock::at(Fixture::start().as_micros()), Fixture::fresh_queue());
        let leases = Relaying::of(7, leasing.open(&url, Some(clock.clone())).await, queue.clone());
        let marks = Relaying::of(8, marking.open(&url, Some(clock.clone())).await, queue);
        Self { leasing: leases, marking: marks, clock, _backend: leasing }
    }

    async fn enqueue(&self, count: u64) {
        let queue = self.leasing.instance.queue();
        let messages: Vec<_> =
            (0..count).map(|n| NewMessage::json(queue.clone(), &n).expect("a message")).collect();
        self.leasing.outbox.enqueue_now(&messages).await.expect("enqueue");
    }

    /// What both say, which is the same unless there is no mix.
    async fn findings(&self) -> [Finding; 2] {
        [self.leasing.finding().await, self.marking.finding().await]
    }

    async fn is_content(&self) {
        for finding in self.findings().await {
            assert_eq!(finding.severity, Severity::Good, "{finding}");
        }
    }

    async fn warns(&self) -> String {
        let [one, other] = self.findings().await;
        assert_eq!(one.severity, Severity::Warning, "{one}");
        assert_eq!(one, other);
        assert!(one.detail.contains(self.leasing.instance.queue().as_str()), "{one}");
        one.detail
    }
}

impl Relaying {
    fn of(id: u64, opened: Result<SeaOrmOutbox, StoreError>, queue: QueueName) -> Self {
        let outbox = opened.expect("open");
        let instance = Instance::new(id, Ports::of(outbox.clone()), queue, 10);
        Self { outbox, instance }
    }

    async fn finding(&self) -> Finding {
        let findings = self.outbox.doctor().await.expect("doctor");
        findings.into_iter().find(|finding| finding.check == "strategies").expect("a finding")
    }

    async fn ack_all(&self, claimed: &[Claimed]) {
        for claimed in claimed {
            assert_eq!(self.instance.ack(claimed).await, Settled::Accepted);
        }
    }
}

async fn warns_of_a_mix(mix: &Mix) {
    mix.is_content().await;
    mix.enqueue(40).await;
    let marked = mix.marking.instance.take(5).await;
    mix.is_content().await;
    let leased = mix.leasing.instance.take(5).await;
    assert_eq!((marked.len(), leased.len()), (5, 5));
    mix.warns().await;
    // As long as both have something in hand, however often either comes to an end with the rest.
    mix.leasing.ack_all(&leased[..4]).await;
    mix.warns().await;
    mix.marking.ack_all(&marked).await;
    mix.is_content().await;
    mix.leasing.ack_all(&leased[4..]).await;
    mix.is_content().await;
}

/// Relays that end in order leave nothing in hand, whatever they have put off.
async fn is_content_after_a_change(mix: &Mix) {
    mix.enqueue(40).await;
    for (before, after) in
        [(&mix.marking, &mix.leasing), (&mix.leasing, &mix.marking), (&mix.marking, &mix.leasing)]
    {
        let claimed = before.instance.take(9).await;
        assert_eq!(claimed.len(), 9);
        before.ack_all(&claimed[..3]).await;
        for claimed in &claimed[3..6] {
            assert_eq!(before.instance.nack(claimed, LEASE / 2, "later").await, Settled::Accepted);
        }
        for claimed in &claimed[6..] {
            assert_eq!(before.instance.release(claimed).await, Settled::Accepted);
        }
        before.instance.ports.claiming.release_read_ahead(before.instance.queue()).await.expect("release");
        mix.is_content().await;
        let claimed = after.instance.take(2).await;
        assert_eq!(claimed.len(), 2);
        mix.is_content().await;
        after.ack_all(&claimed).await;
    }
}

/// The leases of relays that were killed look like those of relays that live, until they end.
async fn warns_for_a_lease_after_a_kill(mix: &Mix) {
    for (killed, next) in [(&mix.marking, &mix.leasing), (&mix.leasing, &mix.marking)] {
        mix.enqueue(40).await;
        assert_eq!(killed.instance.take(5).await.len(), 5);
        mix.clock.advance(LEASE - Duration::from_secs(10));
        let claimed = next.instance.take(5).await;
        let warned = mix.warns().await;
        assert!(warned.contains("this is over in 11 s"), "{warned}");
        mix.clock.advance(Duration::from_secs(11));
        mix.is_content().await;
        next.ack_all(&claimed).await;
        mix.clock.advance(LEASE);
    }
}
