//! Errors of a server that pass, met by settlements whose handlers have succeeded: none of them buries a message.
//! Promise: a transient error, a full disk and a proxy's refusal bury no message whose handler has succeeded

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use claimstream::{Compose, Relay, RelayConfig, handler_fn};
use claimstream_domain::{NewMessage, QueueName, QueueStatus, Verdict};
use claimstream_ports::StoreErrorKind;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::eventually;
use claimstream_tokio::TokioTimer;
use sea_orm::ConnectionTrait;
use tokio::sync::watch;

use crate::{
    Fixture, Instance, Ports, PrivateDatabase, Server, Suite, backend::SeaOrmBackend, fixture::Wire,
};

/// Numbers of errors that pass, and a text that a server says with them.
///
/// Table full; a prepared statement, or a table, that has just changed; the storage engine; no room for locks, transactions,
/// or a transaction's log; a blocked host; a certification conflict of a cluster, in both of its forms; what proxies say.
const PASSING: [(u16, &str); 12] = [
    (1114, "The table is full"),
    (1615, "Prepared statement needs to be re-prepared"),
    (1030, "Got error 28 from storage engine"),
    (1412, "Table definition has changed, please retry transaction"),
    (1206, "The total number of locks exceeds the lock table size"),
    (1637, "Too many active concurrent transactions"),
    (1197, "Multi-statement transaction required more than 'max_binlog_cache_size' bytes of storage"),
    (1129, "Host is blocked because of many connection errors"),
    (1180, "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT"),
    (3101, "Plugin instructed the server to rollback the current transaction."),
    (1105, "Unknown error"),
    (9001, "Max connect timeout reached while reaching hostgroup 0 after 10000ms"),
];

/// What a proxy, or a node of a cluster that is not ready, answers to every statement.
const REFUSALS: [(u16, &str); 4] =
    [PASSING[10], PASSING[11], PASSING[7], (1047, "WSREP has not yet prepared node for application use")];

const MESSAGES: usize = 10;

/// Adds them on every server that is here, with each strategy, and a full disk on SQLite and on MySQL.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    let full = "sqlite::preemptive_update::passing_errors::a_full_disk_buries_nothing_that_was_handled";
    suite.add_async_test(full, async {
        a_full_file(&SeaOrmBackend::sqlite("preemptive_update")).await;
    });
    if let Some(server) = Server::ALL.into_iter().find(|server| server.name == "mysql-9.7")
        && server.url(&environment).is_some()
    {
        let full = "mysql-9.7::skip_locked::passing_errors::a_full_disk_buries_nothing_that_was_handled";
        suite.add_async_test(full, async move { a_full_tablespace(server).await });
    }
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies().iter().copied() {
            let name = |what: &str| format!("{}::{strategy}::passing_errors::{what}", server.name);
            let (injected, refused) = (url.clone(), url.clone());
            // Guard: unknown errors may pass | adapters/sea-orm/src/database/mysql_errors.rs: `_ => Corrupt`
            suite.add_async_test(&name("what_passes_buries_nothing_that_was_handled"), async move {
                injected_errors(&SeaOrmBackend::server(server.name, &injected, strategy.name())).await;
            });
            suite.add_async_test(&name("what_a_proxy_refuses_buries_nothing_that_was_handled"), async move {
                refused_statements(&SeaOrmBackend::server(server.name, &refused, strategy.name())).await;
            });
        }
    }
}

/// Each number is the answer to every child that is enqueued, for a while.
async fn injected_errors(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let wire = Wire::to(&url).await.expect("a port");
    let outbox = SeaOrmOutbox::open(&wire.url, backend.options()).await.expect("open");
    for (number, text) in PASSING {
        let trouble = Trouble::on(&outbox).await;
        let trigger = format!(
            "CREATE TRIGGER passing BEFORE INSERT ON claimstream_queue FOR EACH ROW IF NEW.queue = '{}' THEN \
             SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = '{}'; END IF",
            trouble.children,
            text.replace('\'', "''")
        );
        outbox.connection().execute_unprepared(&trigger).await.expect("a trigger");
        let before = wire.commands.errors();
        let relief = async {
            eventually("it is met again and again", || async { wire.commands.errors() >= before + 3 }).await;
            outbox.connection().execute_unprepared("DROP TRIGGER passing").await.expect("no trigger");
        };
        trouble.run(&outbox, async {}, relief, &format!("{number} {text}")).await;
    }
}

/// Something between us and the server answers every statement in its place.
async fn refused_statements(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let direct = SeaOrmOutbox::open(&url, backend.options()).await.expect("open");
    let wire = Wire::to(&url).await.expect("a port");
    let outbox = SeaOrmOutbox::open(&wire.url, backend.options()).await.expect("open");
    for (number, text) in REFUSALS {
        let trouble = Trouble::on(&direct).await;
        let begins = async { wire.refuse(number, text) };
        let relief = async {
            wire.refused(6).await;
            wire.refuse_no_more();
        };
        trouble.run(&outbox, begins, relief, &format!("{number} {text}")).await;
    }
}

/// SQLite refuses to make its file larger, as on a disk without room.
async fn a_full_file(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    // The limit is a connection's own, so there is one.
    let options = OpenOptions { max_connections: 1, ..backend.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let trouble = Trouble::on(&outbox).await;
    let relief = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        limit(&outbox, 1_000_000).await;
    };
    // Less than there is means no more than there is.
    trouble.run(&outbox, limit(&outbox, 1), relief, "13 database or disk is full").await;
}

/// A server whose tables lie in one file that may not grow.
async fn a_full_tablespace(server: Server) {
    let options = "--innodb-file-per-table=OFF --innodb-data-file-path=ibdata1:12M:autoextend:max:20M";
    let private = tokio::task::spawn_blocking(move || PrivateDatabase::start(server, options));
    let private = private.await.expect("a server");
    let outbox = SeaOrmOutbox::open(private.url(), OpenOptions::default()).await.expect("open");
    let trouble = Trouble::on(&outbox).await;
    let begins = async {
        // Large extents first, and then what is left of single pages.
        for (n, bytes) in [(1, 8000), (2, 4000), (3, 4000)] {
            fill(&outbox, n, bytes).await;
        }
        let payload = "x".repeat(4000);
        let message = |_| NewMessage::json(Fixture::fresh_queue(), &payload).expect("a message");
        let error = outbox.enqueue_now(&(0..MESSAGES).map(message).collect::<Vec<_>>()).await;
        let error = error.expect_err("there is room left");
        assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("1114"), "{error}");
    };
    let relief = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let drop = "DROP TABLE IF EXISTS filler_1, filler_2, filler_3";
        outbox.connection().execute_unprepared(drop).await.expect("room");
    };
    trouble.run(&outbox, begins, relief, "1114 by a full disk").await;
}

/// Writes rows of a size until there is no room for one more.
async fn fill(outbox: &SeaOrmOutbox, n: u32, bytes: usize) {
    let create = format!("CREATE TABLE filler_{n} (id INT AUTO_INCREMENT PRIMARY KEY, x VARBINARY(8000))");
    if outbox.connection().execute_unprepared(&create).await.is_err() {
        return;
    }
    let insert = format!("INSERT INTO filler_{n} (x) VALUES (REPEAT('x', {bytes}))");
    for _ in 0..10_000 {
        if let Err(full) = outbox.connection().execute_unprepared(&insert).await {
            assert!(full.to_string().contains("1114"), "{full}");
            return;
        }
    }
    panic!("the disk is never full");
}

async fn limit(outbox: &SeaOrmOutbox, pages: u32) {
    let limit = format!("PRAGMA max_page_count = {pages}");
    outbox.connection().execute_unprepared(&limit).await.expect("a limit");
}

/// Messages to be handled, each with a child, while the store is in trouble.
pub(crate) struct Trouble {
    parents: QueueName,
    pub(crate) children: QueueName,
}

impl Trouble {
    pub(crate) async fn on(outbox: &SeaOrmOutbox) -> Self {
        let (parents, children) = (Fixture::fresh_queue(), Fixture::fresh_queue());
        let message = |n| NewMessage::json(parents.clone(), &n).expect("a message");
        let messages: Vec<_> = (0..MESSAGES).map(message).collect();
        outbox.enqueue_now(&messages).await.expect("enqueue");
        Self { parents, children }
    }

    /// The trouble begins when all handlers have been called and before any has answered; relief comes after.
    pub(crate) async fn run(
        &self,
        outbox: &SeaOrmOutbox,
        begins: impl Future<Output = ()> + Send,
        relief: impl Future<Output = ()> + Send,
        what: &str,
    ) {
        let called = Arc::new(AtomicUsize::new(0));
        let (open, gate) = watch::channel(false);
        let (counted, to) = (Arc::clone(&called), self.children.clone());
        let handler = handler_fn(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            let (mut gate, to) = (gate.clone(), to.clone());
            async move {
                let _ = gate.wait_for(|open| *open).await;
                let child = NewMessage::json(to, &"x".repeat(4000)).expect("a message");
                Verdict::Ack { emit: vec![child] }
            }
        });
        let relay = Relay::new(Arc::new(outbox.clone()), TokioTimer::new(), RelayConfig::default());
        let pipeline = relay.pipeline(self.parents.clone(), handler).expect("a pipeline");
        let done = async {
            eventually(what, || async { called.load(Ordering::SeqCst) == MESSAGES }).await;
            begins.await;
            let _ = open.send(true);
            relief.await;
            eventually(what, || async {
                let (left, children, dead) = self.depths(outbox).await;
                (left, children) == (0, MESSAGES as u64) || dead > 0
            })
            .await;
        };
        let report = pipeline.run_until(done).await;
        let (left, children, dead) = self.depths(outbox).await;
        assert_eq!((left, children, dead), (0, MESSAGES as u64, 0), "{what}: left, children, dead");
        assert_eq!(called.load(Ordering::SeqCst), MESSAGES, "{what}: handled");
        report.unwrap_or_else(|error| panic!("{what}: {error}"));
    }

    /// Parents left, children, and dead letters.
    async fn depths(&self, outbox: &SeaOrmOutbox) -> (u64, u64, u64) {
        let parents = Instance::new(1, Ports::of(outbox.clone()), self.parents.clone(), 1);
        let parents_status = parents.status().await;
        let children_status = parents.on(&self.children).status().await;
        let depth = |status: &Option<QueueStatus>| status.as_ref().map_or(0, |status| status.depth);
        let dead = parents_status.as_ref().map_or(0, |status| status.dead);
        (depth(&parents_status), depth(&children_status), dead)
    }
}
