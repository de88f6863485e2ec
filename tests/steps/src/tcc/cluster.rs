//! TCC on a cluster of which each node takes writes.
//! Promise: TCC works with its databases at different nodes of a cluster, and behind a proxy that connects
//! each time to another node

use claimstream_sea_orm::{FrozenClock, SeaOrmOutbox};
use claimstream_testbed::{Forwarder, Nodes};
use sea_orm::Database;

use super::{UNDER_MISHAPS, late_node, mishaps, scenarios, shop::SqlShop, show, world::World};
use crate::{Fixture, Suite, backend::SeaOrmBackend, sagas::Draw};

/// Adds every scenario with its two instances at two nodes, and a few draws that are under mishaps behind a proxy that leads each
/// connection to another node than the one before.
pub(crate) fn add_on(suite: &mut Suite, name: &'static str, url: &str) {
    for (scenario, run) in scenarios() {
        let url = url.to_owned();
        suite.add_async_test(&format!("{name}::tcc::{scenario}"), async move {
            let backend = SeaOrmBackend::server(name, &url, "auto");
            run(World::at_two_nodes(&backend, &url).await).await;
        });
    }
    for (scenario, run) in late_node::scenarios() {
        let url = url.to_owned();
        // A test cannot hold back a member of a group.
        if name.starts_with("galera") {
            suite.add_async_test(&format!("{name}::tcc::{scenario}"), async move {
                let backend = SeaOrmBackend::server(name, &url, "auto");
                run(World::at_two_nodes(&backend, &url).await).await;
            });
        }
    }
    let url = url.to_owned();
    suite.add_async_test(&format!("{name}::tcc::{UNDER_MISHAPS}"), async move {
        let backend = SeaOrmBackend::server(name, &url, "auto");
        for draw in Draw::some(name) {
            show(draw, mishaps::run(World::behind_a_proxy(&backend, &url).await, draw).await);
        }
    });
}

impl World<SeaOrmOutbox> {
    /// One instance at each of two nodes.
    async fn at_two_nodes(backend: &SeaOrmBackend, url: &str) -> Self {
        let nodes = Nodes::of(url).await.expect("nodes");
        let database = backend.database().await.expect("a database");
        let places = nodes.of_database(&database);
        let other = places[places.len() - 1].clone();
        Self::open_at(backend, &database, [&database, &other], nodes).await
    }

    /// Two instances, each at all nodes in turn.
    async fn behind_a_proxy(backend: &SeaOrmBackend, url: &str) -> Self {
        let nodes = Nodes::of(url).await.expect("nodes");
        let database = backend.database().await.expect("a database");
        let proxy = Forwarder::between(&nodes.of_database(&database)).await.expect("a port");
        Self::open_at(backend, &database, [proxy.url(), proxy.url()], nodes).await
    }

    async fn open_at(backend: &SeaOrmBackend, database: &str, places: [&str; 2], nodes: Nodes) -> Self {
        // The tables are made where the database was.
        backend.open(database, None).await.expect("tables");
        let shop = SqlShop::open(Database::connect(database).await.expect("connect")).await;
        nodes.catch_up().await;
        let clock = FrozenClock::at(Fixture::start().as_micros());
        let store = backend.open(places[0], Some(clock.clone())).await.expect("open");
        let rival = backend.open(places[1], Some(clock.clone())).await.expect("open");
        Self::of_instances(store, rival, shop, clock).on(nodes)
    }
}
