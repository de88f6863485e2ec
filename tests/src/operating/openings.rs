//! How an outbox is opened: what is agreed upon, and what is refused.

use std::time::Duration;

use claimstream_domain::{Enqueued, MessageId, NewMessage, Payload, QueueName, ShardCount};
use claimstream_ports::{Enqueue, StoreErrorKind, Transactions};
use claimstream_sea_orm::{Dialect, OpenOptions, SeaOrmOutbox};
use futures::future::join_all;
use sea_orm::{ConnectionTrait, DbBackend, Statement, Value};
use tokio::time::timeout;
use uuid::Uuid;

use crate::{Server, Suite, backend::SeaOrmBackend};

/// Adds the openings on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    suite.add_async_trial("sqlite::openings::first_starts_agree_on_the_shards", async {
        agree_on_the_shards(&SeaOrmBackend::sqlite("auto")).await;
    });
    suite.add_async_trial("sqlite::openings::an_opening_waits_for_no_open_transaction", async {
        waits_for_nobody(&SeaOrmBackend::sqlite("auto")).await;
    });
    suite.add_async_trial("sqlite::openings::a_file_that_cannot_be_opened_is_named", async {
        let url = SeaOrmBackend::sqlite("auto").fresh_database().await.expect("a database");
        let (address, parameters) = url.split_once('?').unwrap_or((&url, ""));
        let url = format!("{address}-no-folder/shop.db?{parameters}");
        let error = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect_err("no folder");
        assert_eq!(error.kind(), StoreErrorKind::Misconfigured, "{error}");
        assert!(error.to_string().contains("-no-folder/shop.db; its folder must exist"), "{error}");
    });
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let name = |what: &str| format!("{}::openings::{what}", server.name);
        let (alone, encrypted, busy) = (url.clone(), url.clone(), url.clone());
        suite.add_async_trial(&name("an_opening_waits_for_no_open_transaction"), async move {
            waits_for_nobody(&SeaOrmBackend::server(server.name, &busy, "auto")).await;
        });
        suite.add_async_trial(
            &name("encrypted_rows_go_together_as_far_as_a_record_carries_them"),
            async move {
                fit_into_records(&SeaOrmBackend::server(server.name, &encrypted, "auto"), server.name).await;
            },
        );
        suite.add_async_trial(&name("first_starts_agree_on_the_shards"), async move {
            agree_on_the_shards(&SeaOrmBackend::server(server.name, &url, "auto")).await;
        });
        suite.add_async_trial(&name("a_pool_of_one_connection_is_refused"), async move {
            let one = [
                ("max_connections", OpenOptions { max_connections: 1, ..OpenOptions::default() }),
                ("relay_connections", OpenOptions { relay_connections: 1, ..OpenOptions::default() }),
            ];
            for (setting, options) in one {
                let error = SeaOrmOutbox::open(&alone, options).await.expect_err("one connection");
                assert_eq!(error.kind(), StoreErrorKind::Misconfigured);
                assert!(error.to_string().contains(setting), "{error}");
            }
        });
    }
}

/// So often that one of them comes between two statements of another.
const OPENINGS: usize = 40;

/// Instances with different configurations start on an empty database at one time.
async fn agree_on_the_shards(backend: &SeaOrmBackend) {
    for _ in 0..OPENINGS {
        let url = backend.fresh_database().await.expect("a database");
        let starts = [4, 16, 2, 32].map(|shards| {
            let shards = ShardCount::new(shards).expect("a shard count");
            let options =
                OpenOptions { shards, max_connections: 2, relay_connections: 2, ..OpenOptions::default() };
            let url = url.clone();
            tokio::spawn(async move { SeaOrmOutbox::open(&url, options).await.expect("open").shards() })
        });
        let agreed: Vec<_> =
            join_all(starts).await.into_iter().map(|start| start.expect("a start")).collect();
        assert!(agreed.iter().all(|shards| *shards == agreed[0]), "{agreed:?}");
    }
}

/// Each enqueue shares a lock on the row that tells outboxes apart until its transaction ends.
async fn waits_for_nobody(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let first = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
    let tx = first.begin().await.expect("begin");
    first.enqueue(&tx, &[message(5)]).await.expect("enqueue");
    let open = || timeout(PATIENCE, SeaOrmOutbox::open(&url, OpenOptions::default()));
    let _same = open().await.expect("an opening of what is there").expect("open");
    if first.dialect() == Dialect::MySql {
        // As a database from before the last version; SQLite has one lock for everything that is written.
        let before = "DELETE FROM claimstream_schema WHERE version > 1";
        first.connection().execute_unprepared(before).await.expect("an older schema");
        let newer = open().await.expect("an opening that applies a version").expect("open");
        newer.enqueue_now(&[message(5)]).await.expect("enqueue");
    }
    first.commit_tx(tx).await.expect("commit");
}

/// Longer than a few waits for locks, and shorter than all that an opening makes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most that a TLS record carries.
const RECORD: usize = 16 * 1024;

/// A packet of several records waits for an acknowledgement that is put off for 40 ms, as long as the driver is as it is.
async fn fit_into_records(backend: &SeaOrmBackend, server: &str) {
    let url = backend.fresh_database().await.expect("a database");
    let address = url.split_once('?').map_or(&url[..], |(address, _)| address);
    let url = format!("{address}?ssl-mode=preferred");
    let store = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
    let is_encrypted = is_encrypted(&store).await;
    // MariaDB's test servers have a certificate if there is an openssl to make it.
    assert!(is_encrypted || server.starts_with("mariadb"), "MySQL has a certificate");
    let messages: Vec<_> = (0..100).map(|_| message(500)).chain([message(40_000)]).collect();
    let statements = store.enqueue_statements(&messages).expect("statements").inserts;
    let too_large =
        statements.iter().filter(|(text, values)| text.len().max(carried(values)) > RECORD).count();
    match is_encrypted {
        true => assert_eq!(too_large, 1, "only the large message's"),
        false => assert_eq!(statements.len(), 4, "a hundred and one, of bodies and of entries"),
    }
    let enqueued = store.enqueue_now(&messages).await.expect("enqueue");
    assert_eq!(enqueued, [Enqueued::New; 101]);
}

async fn is_encrypted(store: &SeaOrmOutbox) -> bool {
    let asked = Statement::from_string(DbBackend::MySql, "SHOW SESSION STATUS LIKE 'Ssl_cipher'");
    let row = store.connection().query_one_raw(asked).await.expect("an answer").expect("a row");
    !row.try_get_by_index::<Vec<u8>>(1).expect("a cipher").is_empty()
}

fn message(bytes: usize) -> NewMessage {
    let payload = Payload::new("application/octet-stream", vec![7; bytes]).expect("a payload");
    NewMessage::new(MessageId::new(Uuid::now_v7()), QueueName::new("encrypted").expect("a name"), payload)
}

fn carried(values: &[Value]) -> usize {
    let bytes = |value: &Value| match value {
        Value::Bytes(Some(bytes)) => bytes.len(),
        _ => 8,
    };
    values.iter().map(bytes).sum()
}
