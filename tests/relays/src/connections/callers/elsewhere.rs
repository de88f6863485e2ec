//! A connection that leads to another database than the outbox's, and messages in a queue without a consumer.

use claimstream_domain::{Enqueued, QueueStatus, ShardCount, Timestamp};
use claimstream_ports::{Enqueue, Observe, StoreError, StoreErrorKind};
use claimstream_sea_orm::{Dialect, Finding, OpenOptions, SeaOrmOutbox, Severity};
use sea_orm::{
    ConnectionTrait, Database, TransactionTrait,
    sqlx::{self, Connection},
};

use super::setup::{Setup, depth};
use crate::backend::SeaOrmBackend;

/// Another outbox's database, cut into more shards or into as many, and one without an outbox.
/// Guard: a transaction that another outbox began is not trusted |
/// adapters/sea-orm/src/caller_transactions/own.rs `is_of`: true
/// Guard: connections of callers are proven to lead to the outbox's database |
/// adapters/sea-orm/src/database/at_home.rs `of_callers_at_home`: the next of the pool, unproven
/// Guard: a transaction that `USE` moved to another database is not trusted |
/// adapters/sea-orm/src/caller_transactions/own.rs `PLAIN`: with `USE`
/// Guard: an enqueue compares the database's identity | adapters/sea-orm/src/sql/savepoint/proof.mysql.sql:
/// no `COUNT(*) = 0`; savepoint.rs `release`: no comparison
/// Guard: a session that remembers its proof is asked for its database |
/// adapters/sea-orm/src/sql/savepoint/known.mysql.sql: no `DATABASE()`
pub(super) async fn a_connection_to_another_database_is_refused(setup: &Setup, backend: &SeaOrmBackend) {
    for shards in [64, setup.outbox.shards().get()] {
        let shards = ShardCount::new(shards).expect("a shard count");
        let url = backend.database_of(shards).await.expect("a database");
        let other =
            SeaOrmOutbox::open(&url, OpenOptions { shards, ..OpenOptions::default() }).await.expect("open");
        let tx = other.begin().await.expect("begin");
        refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
        assert_eq!(other.enqueue(&tx, &[setup.message()]).await.expect("its own"), [Enqueued::New]);
        // The session remembers the other outbox by now.
        refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
        tx.commit().await.expect("commit");
        let tx = other.begin_own().await.expect("begin");
        refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
        assert_eq!(other.enqueue(&tx, &[setup.message()]).await.expect("its own"), [Enqueued::New]);
        refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
        tx.commit().await.expect("commit");
        let there: u64 = other.observe().await.expect("observe").iter().map(|status| status.depth).sum();
        assert_eq!(there, 2, "its own messages alone");
        if other.dialect() == Dialect::MySql {
            let mut tx = other.connection().get_mysql_connection_pool().begin().await.expect("begin");
            refused(setup.outbox.enqueue_sqlx(&mut tx, &[setup.message()]).await);
            tx.rollback().await.expect("roll back");
            moves_away_and_back(setup, &url).await;
            leaves_the_pool_elsewhere(setup, &other, &url).await;
            moves_an_own_transaction(setup, &other, &url).await;
        }
    }
    let url = backend.fresh_database().await.expect("a database");
    let url = if url.starts_with("sqlite") { format!("{url}?mode=rwc") } else { url };
    let empty = Database::connect(&url).await.expect("connect");
    let tx = empty.begin().await.expect("begin");
    let error = setup.outbox.enqueue_on(&tx, &[setup.message()]).await.expect_err("no tables");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
    tx.rollback().await.expect("roll back");
    assert_eq!(depth(setup).await, 0);
}

/// A session remembers that it was proven to be on the outbox's own database, and leaves that one.
async fn moves_away_and_back(setup: &Setup, elsewhere: &str) {
    let pool = setup.plain.get_mysql_connection_pool();
    let mut session = pool.acquire().await.expect("a connection");
    let (home, away) = (current(&mut session).await, named_in(elsewhere));
    let earlier = depth(setup).await;
    for (to, is_home) in [(&home, true), (&away, false), (&home, true), (&away, false)] {
        send(&mut session, &format!("USE {to}")).await;
        let mut tx = session.begin().await.expect("begin");
        let enqueued = setup.outbox.enqueue_sqlx(&mut tx, &[setup.message()]).await;
        match is_home {
            true => assert_eq!(enqueued.expect("its own"), [Enqueued::New]),
            false => refused(enqueued),
        }
        tx.rollback().await.expect("roll back");
    }
    send(&mut session, &format!("USE {home}")).await;
    assert_eq!(depth(setup).await, earlier);
}

/// Callers leave sessions of the outbox's own pool on another outbox's database.
async fn leaves_the_pool_elsewhere(setup: &Setup, other: &SeaOrmOutbox, elsewhere: &str) {
    let pool = setup.outbox.connection().get_mysql_connection_pool();
    let earlier = (depth(setup).await, other.observe().await.expect("observe").len());
    for own in [true, false] {
        let mut sessions = Vec::new();
        for _ in 0..pool.options().get_max_connections() {
            let mut session = pool.acquire().await.expect("a connection");
            send(&mut session, &format!("USE {}", named_in(elsewhere))).await;
            sessions.push(session);
        }
        drop(sessions);
        let enqueued = match own {
            true => {
                let tx = setup.outbox.begin_own().await.expect("begin");
                let enqueued = setup.outbox.enqueue(&tx, &[setup.message()]).await;
                tx.commit().await.expect("commit");
                enqueued
            }
            false => setup.outbox.enqueue_now(&[setup.message()]).await,
        };
        assert_eq!(enqueued.expect("on a connection of its own database"), [Enqueued::New]);
        let here = depth(setup).await;
        assert_eq!(here, earlier.0 + 1 + u64::from(!own), "nothing was written elsewhere");
    }
    assert_eq!(other.observe().await.expect("observe").len(), earlier.1);
    setup.plain.execute_unprepared("DELETE FROM claimstream_queue").await.expect("as before");
}

/// A caller moves the session of an own transaction, before the first call or after one.
async fn moves_an_own_transaction(setup: &Setup, other: &SeaOrmOutbox, elsewhere: &str) {
    let earlier = (depth(setup).await, other.observe().await.expect("observe").len());
    for calls in 0..2 {
        let tx = setup.outbox.begin_own().await.expect("begin");
        for _ in 0..calls {
            assert_eq!(
                setup.outbox.enqueue(&tx, &[setup.message()]).await.expect("at home"),
                [Enqueued::New]
            );
        }
        tx.execute_unprepared(&format!("USE {}", named_in(elsewhere))).await.expect("an answer");
        refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
        tx.commit().await.expect("commit");
        let tx = setup.outbox.begin_own().await.expect("begin");
        assert_eq!(setup.outbox.enqueue(&tx, &[setup.message()]).await.expect("at home"), [Enqueued::New]);
        tx.roll_back().await.expect("roll back");
    }
    assert_eq!(depth(setup).await, earlier.0 + 1);
    let there = other.observe().await.expect("observe");
    assert_eq!(there.len(), earlier.1);
    assert!(there.iter().all(|status| status.depth == 2), "nothing was written elsewhere: {there:?}");
    setup.plain.execute_unprepared("DELETE FROM claimstream_queue").await.expect("as before");
}

/// An outbox that was opened before the tables of its database were made again is another one than that of the new tables.
/// Guard: a session that remembers tables of another time is proven again |
/// adapters/sea-orm/src/sql/savepoint/known.mysql.sql: any `:made_at` is accepted
pub(super) async fn tables_that_were_made_again_are_not_those_of_before(backend: &SeaOrmBackend) {
    let (setup, url) = Setup::at(backend).await;
    let later = "UPDATE claimstream_schema SET applied_at = applied_at + INTERVAL 1 SECOND";
    setup.plain.execute_unprepared(later).await.expect("tables that were made later");
    let next = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
    let mut session = setup.plain.get_mysql_connection_pool().acquire().await.expect("a connection");
    for _ in 0..2 {
        let mut tx = session.begin().await.expect("begin");
        let enqueued = next.enqueue_sqlx(&mut tx, &[setup.message()]).await;
        assert_eq!(enqueued.expect("its own tables"), [Enqueued::New]);
        // The session remembers the tables that are there.
        refused(setup.outbox.enqueue_sqlx(&mut tx, &[setup.message()]).await);
        tx.rollback().await.expect("roll back");
    }
}

async fn current(session: &mut sqlx::MySqlConnection) -> String {
    sqlx::query_scalar("SELECT DATABASE()").fetch_one(session).await.expect("a database")
}

fn named_in(url: &str) -> String {
    let path = url.split('?').next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

async fn send(session: &mut sqlx::MySqlConnection, text: &str) {
    sqlx::Executor::execute(session, sqlx::AssertSqlSafe(text.to_owned())).await.expect("an answer");
}

fn refused(enqueued: Result<Vec<Enqueued>, StoreError>) {
    let error = enqueued.expect_err("another outbox's database");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("does not lead to this outbox's own database"), "{error}");
}

/// Rows in shards that the outbox does not have, such as earlier versions may have left there.
/// Guard: rows in unknown shards are counted apart | adapters/sea-orm/src/queues/observe.rs `shard_status`:
/// with the others
pub(super) async fn messages_in_unknown_shards_are_reported(setup: &Setup) {
    setup.outbox.enqueue_now(&[setup.message(), setup.message()]).await.expect("enqueue");
    assert_eq!(
        about_queues(setup).await.iter().map(|finding| finding.severity).collect::<Vec<_>>(),
        [Severity::Good]
    );
    let stray = "UPDATE claimstream_queue SET shard = 200";
    setup.plain.execute_unprepared(stray).await.expect("an update");
    let queue = setup.queue.clone();
    let expected =
        QueueStatus { queue, depth: 2, due: 0, leased: 0, retrying: 0, oldest: None, dead: 0, stray: 2 };
    assert_eq!(setup.outbox.observe().await.expect("observe"), [expected]);
    let found = about_queues(setup).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Failure);
    assert!(found[0].detail.starts_with(&format!("2 messages of queue {}", setup.queue)), "{}", found[0]);
}

/// A queue whose messages have been due for long, with nothing in hand.
/// Guard: queues that no relay reads are reported | adapters/sea-orm/src/doctor/queues.rs: no `seems_unread`
pub(super) async fn a_queue_without_a_consumer_is_reported(setup: &Setup) {
    let message =
        setup.message().deliver_at(Timestamp::from_micros(1_600_000_000_000_000).expect("a moment"));
    setup.outbox.enqueue_now(&[message]).await.expect("enqueue");
    let found = about_queues(setup).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Warning);
    assert!(found[0].detail.contains(&format!("queue {}", setup.queue)), "{}", found[0]);
}

async fn about_queues(setup: &Setup) -> Vec<Finding> {
    let findings = setup.outbox.doctor().await.expect("doctor");
    findings.into_iter().filter(|finding| finding.check == "queues").collect()
}
