//! Futures dropped at every await while others work at the same time: nothing acknowledged is lost, nothing stays open.
//! Promise: a dropped future loses no acknowledged write and leaves no open transaction; a plain pool does

mod aftermath;
mod known;
mod load;
mod operation;
mod plain_pool;

use std::sync::Arc;

use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};

use self::{
    load::{CONNECTIONS, DROPS_OF_EACH, Load},
    plain_pool::bite,
};
use crate::{
    Fixture, Server, Suite,
    backend::SeaOrmBackend,
    suite::{RUNTIME, STUCK},
};

/// Adds the drops on every server that is here, and the proof that they show what a plain pool loses.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let (name, plain) = (server.name, url.clone());
        let dropped = format!("{name}::cancellation::a_dropped_future_loses_nothing");
        suite.add_long("faults", &dropped, move || RUNTIME.block_on(drop_futures(server, &url)));
        let bites = format!("{name}::cancellation::a_plain_pool_loses_an_acknowledged_write");
        suite.add_async_test(&bites, async move {
            tokio::time::timeout(STUCK, bite(server, &plain)).await.expect("not stuck");
        });
    }
}

async fn drop_futures(server: Server, url: &str) {
    let backend = SeaOrmBackend::server(server.name, url, "auto");
    let url = backend.database().await.expect("a database");
    let options = || OpenOptions {
        max_connections: CONNECTIONS,
        relay_connections: CONNECTIONS,
        ..OpenOptions::default()
    };
    let outbox = SeaOrmOutbox::open(&url, options()).await.expect("open");
    let other = SeaOrmOutbox::open(&url, options()).await.expect("open");
    let load = Arc::new(Load::new(outbox, Fixture::fresh_queue()));
    load.clone().run().await;
    let open = load.open_after_a_while(other.connection()).await;
    let dead = load.dead_slots(other.connection()).await;
    let (left, drained) = load.drain(other.connection()).await;
    let lost = load.lost(other.connection()).await;
    let drops = load.drops();
    let (acknowledged, settled) = load.known().counts();
    println!(
        "cancellation: {}: drops {drops:?}, {} in all; {acknowledged} acknowledged, {lost} lost, {settled} settled \
         once; {open} open, {dead} dead slots; {left} left and {drained} drained",
        server.name,
        drops.values().sum::<usize>(),
    );
    assert!(drops.values().all(|drops| *drops >= DROPS_OF_EACH), "too few drops of something: {drops:?}");
    assert!(drops.values().sum::<usize>() >= 4_000, "too few drops");
    assert_eq!((lost, open, dead), (0, 0, 0), "lost, open, dead slots");
    assert_eq!(left, drained, "not everything that was left could be claimed");
}
