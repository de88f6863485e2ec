//! How an outbox is opened: what is agreed upon, and what is refused.
//! Promise: instances that start first at one time agree on the shards; an opening waits for no open
//! transaction; a process continues on a newer version of the schema, and one that may not change an older
//! version is refused

use std::collections::BTreeSet;

use claimstream::Compose;
use claimstream_domain::{
    Disposition, Enqueued, MessageId, NewMessage, Payload, QueueName, Reason, Renewed, Settled, ShardCount,
};
use claimstream_ports::{Enqueue, StoreErrorKind, Transactions};
use claimstream_sea_orm::{Capability, Dialect, OpenOptions, SeaOrmOutbox, Severity};
use futures::future::join_all;
use sea_orm::{ConnectionTrait, DbBackend, Statement, TransactionTrait, Value};
use uuid::Uuid;

use crate::{
    Fixture, Instance, LEASE, Ports, Server, Suite, backend::SeaOrmBackend, repetitions, statement::sql,
};

/// Adds the openings on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    suite.add_async_test("sqlite::openings::first_starts_agree_on_the_shards", async {
        agree_on_the_shards(&SeaOrmBackend::sqlite("auto")).await;
    });
    // Guard: a version that is applied is left alone | adapters/sea-orm/src/outbox/schema.rs `apply`: all
    // versions
    suite.add_async_test("sqlite::openings::an_opening_waits_for_no_open_transaction", async {
        does_not_wait(&SeaOrmBackend::sqlite("auto")).await;
    });
    suite.add_async_test("sqlite::openings::a_process_continues_on_a_newer_schema", async {
        continues_on_a_newer_schema(&SeaOrmBackend::sqlite("auto")).await;
    });
    suite.add_async_test("sqlite::openings::an_older_schema_that_may_not_be_changed_is_refused", async {
        is_refused_on_an_older_schema(&SeaOrmBackend::sqlite("auto")).await;
    });
    // Guard: a file that cannot be opened is named | adapters/sea-orm/src/database/connecting.rs `refused`:
    // no `SQLITE_CANTOPEN`
    suite.add_async_test("sqlite::openings::a_file_that_cannot_be_opened_is_named", async {
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
        for strategy in server.strategies().iter().map(|strategy| strategy.name()) {
            let url = url.clone();
            let name =
                format!("{}::{strategy}::openings::a_process_continues_on_a_newer_schema", server.name);
            suite.add_async_test(&name, async move {
                continues_on_a_newer_schema(&SeaOrmBackend::server(server.name, &url, strategy)).await;
            });
        }
        let older = url.clone();
        suite.add_async_test(&name("an_older_schema_that_may_not_be_changed_is_refused"), async move {
            is_refused_on_an_older_schema(&SeaOrmBackend::server(server.name, &older, "auto")).await;
        });
        suite.add_async_test(&name("an_opening_waits_for_no_open_transaction"), async move {
            does_not_wait(&SeaOrmBackend::server(server.name, &busy, "auto")).await;
        });
        // Guard: a process that stands still in the probe of `auto` delays no other | adapters/sea-orm/src/database/probe.rs `look`:
        // `lock` in place of the first `skip`
        let probing = url.clone();
        suite.add_async_test(&name("an_opening_waits_for_no_probe_of_another_process"), async move {
            waits_for_no_probe(&SeaOrmBackend::server(server.name, &probing, "auto")).await;
        });
        // Guard: rows of a statement fit into one TLS record | adapters/sea-orm/src/database/server.rs
        // `packet`: never encrypted
        suite.add_async_test(
            &name("encrypted_rows_go_together_as_far_as_a_record_carries_them"),
            async move {
                fit_into_records(&SeaOrmBackend::server(server.name, &encrypted, "auto"), server.name).await;
            },
        );
        suite.add_async_test(&name("first_starts_agree_on_the_shards"), async move {
            agree_on_the_shards(&SeaOrmBackend::server(server.name, &url, "auto")).await;
        });
        suite.add_async_test(&name("a_pool_of_one_connection_is_refused"), async move {
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

/// So often that one of them comes between two statements of another; a quarter has a good chance of it.
const OPENINGS: u32 = 40;

/// Instances with different configurations start on an empty database at one time.
async fn agree_on_the_shards(backend: &SeaOrmBackend) {
    for _ in 0..repetitions(OPENINGS) {
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
async fn does_not_wait(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let first = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
    let tx = first.begin().await.expect("begin");
    first.enqueue(&tx, &[message(5)]).await.expect("enqueue");
    let open = || SeaOrmOutbox::open(&url, OpenOptions::default());
    let _same = open().await.expect("an opening of what is there");
    if first.dialect() == Dialect::MySql {
        // As a database that was not used for steps before; SQLite has one lock for everything that is written.
        let before = "DELETE FROM claimstream_schema WHERE capability = 'steps'";
        first.connection().execute_unprepared(before).await.expect("a schema without steps");
        let newer = open().await.expect("an opening that makes tables");
        newer.enqueue_now(&[message(5)]).await.expect("enqueue");
    }
    first.commit_tx(tx).await.expect("commit");
}

async fn waits_for_no_probe(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let open = || SeaOrmOutbox::open(&url, OpenOptions::default());
    let first = open().await.expect("open");
    let probing = first.connection().begin().await.expect("begin");
    probing.query_all_raw(sql("probe/lock", &vec![])).await.expect("a lock");
    let second = open().await.expect("an opening during a probe");
    assert_eq!(second.strategy(), first.strategy());
    probing.rollback().await.expect("rollback");
}

/// A newer version only adds to the tables: a process that is at work then goes on, and one of the old version may start.
async fn continues_on_a_newer_schema(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let open = |create_schema| {
        let options = OpenOptions { create_schema, ..backend.options() };
        SeaOrmOutbox::open(&url, options)
    };
    let running = open(true).await.expect("open");
    works(&running).await;
    for statement in NEWER {
        running.connection().execute_unprepared(statement).await.expect("a newer schema");
    }
    works(&running).await;
    for create_schema in [true, false] {
        let started = open(create_schema).await.expect("an older version starts");
        assert_eq!(started.shards(), running.shards());
        works(&started).await;
        let findings = started.doctor().await.expect("doctor");
        let schema = findings.iter().find(|finding| finding.check == "schema").expect("a finding");
        assert_eq!(schema.severity, Severity::Good);
        assert!(
            schema.detail.starts_with("outbox version 99, made by a newer version of the library"),
            "{schema}"
        );
        assert!(findings.iter().all(|finding| finding.severity != Severity::Failure), "{findings:?}");
    }
    assert_eq!(versions(&running).await, [1, 99], "the newer version stays");
}

/// What a version that is not there yet might add.
const NEWER: [&str; 4] = [
    "CREATE TABLE claimstream_later (id INTEGER PRIMARY KEY)",
    "ALTER TABLE claimstream_queue ADD COLUMN later INTEGER NULL",
    "ALTER TABLE claimstream_message ADD COLUMN later INTEGER NOT NULL DEFAULT 7",
    "INSERT INTO claimstream_schema (capability, version, applied_at) \
     SELECT capability, 99, applied_at FROM claimstream_schema WHERE capability = 'outbox'",
];

/// Messages are enqueued, claimed, and end in every way.
async fn works(outbox: &SeaOrmOutbox) {
    let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 10);
    let message = || NewMessage::json(instance.queue().clone(), &7).expect("a message");
    let messages = [message(), message(), message(), message()];
    assert_eq!(outbox.enqueue_now(&messages).await.expect("enqueue"), [Enqueued::New; 4]);
    let claimed = instance.take(4).await;
    let receipts: Vec<_> = claimed.iter().map(|claimed| claimed.receipt.clone()).collect();
    let renewed = instance.renew_all(&receipts, LEASE).await;
    let mut receipts = renewed.into_iter().map(|renewed| match renewed {
        Renewed::Extended(receipt) => receipt,
        other => panic!("{other:?}"),
    });
    let reason = || Reason::new("no");
    for disposition in [
        Disposition::Done { emit: vec![message()] },
        Disposition::Retry { after: LEASE, reason: reason() },
        Disposition::dead(reason()),
        Disposition::Returned,
    ] {
        let settled = instance.settle(&receipts.next().expect("four"), disposition).await;
        assert_eq!(settled, Settled::Accepted);
    }
    assert_eq!(instance.revive(&instance.own_dead()).await, 1);
    outbox.sweep().await.expect("sweep");
}

async fn versions(outbox: &SeaOrmOutbox) -> Vec<i64> {
    let asked =
        "SELECT version + 0 AS version FROM claimstream_schema WHERE capability = 'outbox' ORDER BY 1";
    let db = outbox.connection();
    let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), asked)).await;
    let version = |row: &sea_orm::QueryResult| {
        let number = row.try_get_by_index::<i64>(0);
        number.or_else(|_| row.try_get_by_index::<u64>(0).map(|number| number as i64)).expect("a number")
    };
    rows.expect("versions").iter().map(version).collect()
}

async fn is_refused_on_an_older_schema(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let newest = SeaOrmOutbox::open(&url, backend.options()).await.expect("open");
    let older = "DELETE FROM claimstream_schema WHERE capability = 'steps'";
    newest.connection().execute_unprepared(older).await.expect("an older schema");
    let options = OpenOptions { create_schema: false, ..backend.options() };
    let error = SeaOrmOutbox::open(&url, options).await.expect_err("an older schema");
    assert_eq!(error.kind(), StoreErrorKind::Misconfigured);
    assert!(
        error.to_string().contains("those of: steps; run `claimstream schema apply --for steps`"),
        "{error}"
    );
    let without = OpenOptions { create_schema: false, capabilities: BTreeSet::new(), ..backend.options() };
    SeaOrmOutbox::open(&url, without).await.expect("an outbox that is used for nothing else");
    assert!(!newest.capabilities().await.expect("capabilities").contains(&Capability::Steps));
    SeaOrmOutbox::open(&url, backend.options()).await.expect("an opening that makes the tables");
    assert!(newest.capabilities().await.expect("capabilities").contains(&Capability::Steps));
}

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
