//! How an outbox is opened: what is agreed upon, and what is refused.

use claimstream_domain::ShardCount;
use claimstream_ports::StoreErrorKind;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use futures::future::join_all;

use crate::{Server, Suite, venue::SeaOrmVenue};

/// Adds the openings on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    suite.add_async_trial("sqlite::openings::first_starts_agree_on_the_shards", async {
        agree_on_the_shards(&SeaOrmVenue::sqlite("auto")).await;
    });
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let name = |what: &str| format!("{}::openings::{what}", server.name);
        let alone = url.clone();
        suite.add_async_trial(&name("first_starts_agree_on_the_shards"), async move {
            agree_on_the_shards(&SeaOrmVenue::server(server.name, &url, "auto")).await;
        });
        suite.add_async_trial(&name("a_pool_of_one_connection_is_refused"), async move {
            let options = OpenOptions { max_connections: 1, ..OpenOptions::default() };
            let error = SeaOrmOutbox::open(&alone, options).await.expect_err("one connection");
            assert_eq!(error.kind(), StoreErrorKind::Unsupported);
            assert!(error.to_string().contains("max_connections"), "{error}");
        });
    }
}

/// So often that one of them comes between two statements of another.
const OPENINGS: usize = 40;

/// Instances with different configurations start on an empty database at one time.
async fn agree_on_the_shards(venue: &SeaOrmVenue) {
    for _ in 0..OPENINGS {
        let url = venue.fresh_database().await.expect("a database");
        let starts = [4, 16, 2, 32].map(|shards| {
            let shards = ShardCount::new(shards).expect("a shard count");
            let options = OpenOptions { shards, max_connections: 2, ..OpenOptions::default() };
            let url = url.clone();
            tokio::spawn(async move { SeaOrmOutbox::open(&url, options).await.expect("open").shards() })
        });
        let agreed: Vec<_> =
            join_all(starts).await.into_iter().map(|start| start.expect("a start")).collect();
        assert!(agreed.iter().all(|shards| *shards == agreed[0]), "{agreed:?}");
    }
}
