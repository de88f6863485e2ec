//! Sagas on a cluster of which each node takes writes.
//! Promise: sagas work with their databases at different nodes of a cluster, and behind a proxy that connects
//! each time to another node

use std::sync::Arc;

use claimstream_sea_orm::{FrozenClock, OpenOptions, SeaOrmOutbox};
use claimstream_testbed::{Forwarder, Nodes};
use futures::future::try_join_all;

use super::{add_clauses, bank::Bank, mishaps, urls::Urls};
use crate::{Clock, Fixture, Suite, backend::SeaOrmBackend};

/// Adds the cases with each database at another node, and a few draws that are under mishaps behind a proxy that leads each connection
/// to another node than the one before.
pub(crate) fn add_on(suite: &mut Suite, name: &'static str, url: &str) {
    let urls = Urls::of(SeaOrmBackend::server(name, url, "preemptive_update"));
    let (spread, at) = (urls.clone(), url.to_owned());
    add_clauses(
        suite,
        name,
        |name| !name.contains("every_pair") && !name.contains("each_way_at_once"),
        move || {
            let (urls, url) = (spread.clone(), at.clone());
            Box::pin(async move { Ok(at_nodes(&urls, &url).await) })
        },
    );
    let url = url.to_owned();
    mishaps::add_to(suite, name, move || {
        let (urls, url) = (urls.clone(), url.clone());
        Box::pin(async move { behind_a_proxy(&urls, &url).await })
    });
}

/// Each database at the node after that of the one before.
async fn at_nodes(urls: &Urls, url: &str) -> Bank<SeaOrmOutbox> {
    let nodes = Nodes::of(url).await.expect("nodes");
    let made = urls.get().await.expect("databases");
    nodes.catch_up().await;
    let place = |(number, url): (usize, &String)| {
        let at = nodes.of_database(url);
        at[number % at.len()].clone()
    };
    let places: Vec<String> = made.iter().enumerate().map(place).collect();
    open(urls, &places, nodes).await
}

/// Each database at all nodes in turn.
async fn behind_a_proxy(urls: &Urls, url: &str) -> Bank<SeaOrmOutbox> {
    let nodes = Nodes::of(url).await.expect("nodes");
    let made = urls.get().await.expect("databases");
    let mut places = Vec::new();
    for url in &made {
        // Its tables are made where the database was.
        SeaOrmOutbox::open(url, urls.backend.options()).await.expect("tables");
        places.push(Forwarder::between(&nodes.of_database(url)).await.expect("a port").url().to_owned());
    }
    nodes.catch_up().await;
    open(urls, &places, nodes).await
}

async fn open(urls: &Urls, places: &[String], nodes: Nodes) -> Bank<SeaOrmOutbox> {
    let clock = FrozenClock::at(Fixture::start().as_micros());
    let options = OpenOptions { frozen_clock: Some(clock.clone()), ..urls.backend.options() };
    let databases = places.iter().map(|url| SeaOrmOutbox::open(url, options.clone()));
    let databases = try_join_all(databases).await.expect("databases");
    Bank::new(databases, Arc::new(clock) as Arc<dyn Clock>).on(nodes)
}
