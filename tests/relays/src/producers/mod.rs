//! Programs in other languages write messages: by rows that they insert themselves, and by the routine.

mod client;
mod debezium;
mod directory_rows;
mod foreign_row;
mod languages;
mod replaced;
mod routine;
mod taken_keys;
mod twins;
mod wrong_letters;
mod wrong_rows;

use claimstream_domain::{MessageId, OrderingKey, ShardCount};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use uuid::Uuid;

use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds the tests on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for strategy in ["preemptive_update", "shard_lease"] {
        wrong_rows::add_to(suite, "sqlite", strategy, SeaOrmBackend::sqlite(strategy));
    }
    directory_rows::add_to(suite, "sqlite", || SeaOrmBackend::sqlite("auto"));
    wrong_letters::add_to(suite, "sqlite", SeaOrmBackend::sqlite("auto"));
    twins::add_to(suite, "sqlite", SeaOrmBackend::sqlite("shard_lease"));
    suite.add_test("producers::the_page_names_the_shards_of_its_keys", names_the_shards_of_its_keys);
    suite.long("languages", |suite| languages::add_to(suite, &environment));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies() {
            let backend = SeaOrmBackend::server(server.name, &url, strategy.name());
            wrong_rows::add_to(suite, server.name, strategy.name(), backend);
        }
        directory_rows::add_to(suite, server.name, || SeaOrmBackend::server(server.name, &url, "auto"));
        wrong_letters::add_to(suite, server.name, SeaOrmBackend::server(server.name, &url, "auto"));
        twins::add_to(suite, server.name, SeaOrmBackend::server(server.name, &url, "shard_lease"));
        debezium::add_to(suite, server.name, SeaOrmBackend::server(server.name, &url, "preemptive_update"));
        replaced::add_to(suite, server.name, || {
            SeaOrmBackend::server(server.name, &url, "preemptive_update")
        });
        routine::add_to(suite, server.name, || SeaOrmBackend::server(server.name, &url, "preemptive_update"));
    }
}

/// A program that has its own hash is compared with these.
fn names_the_shards_of_its_keys() {
    let page = include_str!("../../../../docs/other-languages.md");
    let shard = |key: &str| {
        let key = OrderingKey::new(key).expect("a key");
        ShardCount::default().shard_of(MessageId::new(Uuid::nil()), Some(&key)).number()
    };
    let named = [
        format!("`customer-7` lies in shard {},", shard("customer-7")),
        format!("`Kunde 1 €` in shard {}.", shard("Kunde 1 €")),
    ];
    assert!(named.iter().all(|named| page.contains(named)), "{named:?}");
}

/// A database that programs in other languages write to, and an instance that claims from it.
struct Shop {
    url: String,
    outbox: SeaOrmOutbox,
    instance: Instance,
}

impl Shop {
    async fn open(backend: &SeaOrmBackend, options: OpenOptions) -> Self {
        let url = backend.database_of(options.shards).await.expect("a database");
        let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
        let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 4);
        Self { url, outbox, instance }
    }
}
