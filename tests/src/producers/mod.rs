//! Programs in other languages write messages: by rows that they insert themselves, and by the routine.

mod foreign_row;
mod wrong_rows;

use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};

use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds the trials on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for strategy in ["preemptive_update", "shard_lease"] {
        wrong_rows::add_to(suite, "sqlite", strategy, SeaOrmBackend::sqlite(strategy));
    }
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies() {
            let backend = SeaOrmBackend::server(server.name, &url, strategy.name());
            wrong_rows::add_to(suite, server.name, strategy.name(), backend);
        }
    }
}

/// A database that programs in other languages write to, and an instance that claims from it.
struct Shop {
    url: String,
    outbox: SeaOrmOutbox,
    instance: Instance,
}

impl Shop {
    async fn open(backend: &SeaOrmBackend, options: OpenOptions) -> Self {
        let url = backend.fresh_database().await.expect("a database");
        let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
        let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 4);
        Self { url, outbox, instance }
    }
}
