//! A few messages in each of many shards, claimed and settled together under shard leases.
//! Promise: a few messages in each of many shards are claimed and settled together, and each shard keeps its
//! own fence

use std::collections::HashSet;

use claimstream::Compose;
use claimstream_domain::{
    Claimed, Disposition, NewMessage,
    Settled::{self, Accepted, Superseded},
    Settlement,
};
use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::ConnectionTrait;

use super::thin_trouble;
use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds thin loads on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    thin_trouble::add_to(suite, &environment);
    let mut places: Vec<(&'static str, Option<String>)> = vec![("sqlite", None)];
    let servers = Server::ALL.map(|server| (server.name, server.url(&environment)));
    places.extend(servers.into_iter().filter(|one| one.1.is_some()));
    for (store, url) in places {
        let backend = move || match &url {
            None => SeaOrmBackend::sqlite("shard_lease"),
            Some(url) => SeaOrmBackend::server(store, url, "shard_lease"),
        };
        let (rivals, lost) = (backend.clone(), backend);
        let name = |what: &str| format!("{store}::shard_lease::thin_load::{what}");
        // Guard: leases that a joint statement did not write are found |
        // adapters/sea-orm/src/strategy/shard_lease/lease/together.rs `write_leases_at_once`: all count as
        // written
        suite.add_async_test(&name("rivals_at_one_time_get_each_message_once"), async move {
            rivals_get_each_message_once(rivals()).await;
        });
        // Guard: a settlement over several shards counts its leases |
        // adapters/sea-orm/src/strategy/shard_lease/settle/proofs.rs `write_parts`: the count of
        // `write_leases` is ignored
        suite.add_async_test(&name("a_lease_that_was_lost_costs_no_other_shard"), async move {
            a_lost_lease_costs_no_other_shard(lost()).await;
        });
    }
}

/// How many messages are there at one time, in four shards.
const FEW: usize = 24;
const ROUNDS: usize = 40;

/// Two outboxes on one database, so two connections at least, and a queue that both claim from.
struct Rivals {
    store: SeaOrmOutbox,
    both: [Instance; 2],
    _venue: SeaOrmBackend,
}

impl Rivals {
    async fn on(backend: SeaOrmBackend) -> Self {
        let url = backend.database().await.expect("a database");
        let store = backend.open(&url, None).await.expect("open");
        let rival = backend.open(&url, None).await.expect("open");
        let one = Instance::new(1, Ports::of(store.clone()), Fixture::fresh_queue(), 20);
        let other = Instance::new(2, Ports::of(rival), one.queue().clone(), 20);
        Self { store, both: [one, other], _venue: backend }
    }

    async fn enqueue(&self) {
        let queue = self.both[0].queue();
        let one = |n: usize| NewMessage::json(queue.clone(), &n).expect("a message");
        let few: Vec<_> = (0..FEW).map(one).collect();
        self.store.enqueue_now(&few).await.expect("enqueue");
    }
}

pub(super) async fn settle(instance: &Instance, claimed: &[Claimed]) -> Vec<Settled> {
    let done = |one: &Claimed| Settlement {
        receipt: one.receipt.clone(),
        disposition: Disposition::Done { emit: vec![] },
    };
    instance.settle_all(&claimed.iter().map(done).collect::<Vec<_>>()).await
}

/// Both read the same shards, and each lease is written by one of them.
async fn rivals_get_each_message_once(backend: SeaOrmBackend) {
    let rivals = Rivals::on(backend).await;
    let [one, other] = &rivals.both;
    let mut seen = HashSet::new();
    for round in 0..ROUNDS {
        rivals.enqueue().await;
        let (a, b) = tokio::join!(one.claim(100), other.claim(100));
        for claimed in a.iter().chain(&b) {
            assert!(seen.insert(claimed.message.id), "handed out twice in round {round}");
            assert_eq!(claimed.attempt, 1);
        }
        let (settled, also) = tokio::join!(settle(one, &a), settle(other, &b));
        assert!(settled.iter().chain(&also).all(|settled| *settled == Accepted), "round {round}");
    }
    while seen.len() < FEW * ROUNDS {
        for instance in &rivals.both {
            let claimed = instance.claim(100).await;
            assert!(claimed.iter().all(|one| seen.insert(one.message.id)), "handed out twice");
            assert!(settle(instance, &claimed).await.iter().all(|settled| *settled == Accepted));
        }
    }
    assert_eq!(one.status().await.map_or(0, |status| status.depth), 0);
}

/// Of a settlement over many shards one lease has got another fence behind our back.
async fn a_lost_lease_costs_no_other_shard(backend: SeaOrmBackend) {
    let rivals = Rivals::on(backend).await;
    let one = &rivals.both[0];
    rivals.enqueue().await;
    let claimed = one.take(FEW).await;
    let lost = claimed[0].receipt.shard;
    assert!(claimed.iter().any(|one| one.receipt.shard != lost), "one shard has all of them");
    let sql = format!("UPDATE claimstream_lease SET fence = fence + 9 WHERE shard = {}", lost.number());
    rivals.store.connection().execute_unprepared(&sql).await.expect("another fence");
    let settled = settle(one, &claimed).await;
    for (claimed, settled) in claimed.iter().zip(settled) {
        let expected = if claimed.receipt.shard == lost { Superseded } else { Accepted };
        assert_eq!(settled, expected);
    }
    let left = claimed.iter().filter(|one| one.receipt.shard == lost).count() as u64;
    assert_eq!(one.status().await.map_or(0, |status| status.depth), left);
}
