//! A pool that a service has and hands in.
//! Promise: a pool that the service passes in serves its callers; one on which messages could be lost is
//! refused

use std::time::Duration;

use claimstream_domain::{Disposition, Enqueued::New, Settled};
use claimstream_ports::{Enqueue, StoreError, StoreErrorKind};
use claimstream_sea_orm::{Dialect, HardenedPool, OpenOptions, SeaOrmOutbox};
use futures::future::try_join_all;
use sea_orm::{
    ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement, TransactionTrait,
    sqlx::{
        AssertSqlSafe, Executor,
        mysql::{MySqlPool, MySqlPoolOptions},
        sqlite::{SqlitePool, SqlitePoolOptions},
    },
};

use super::setup::{Setup, depth};
use crate::{Instance, Ports, backend::SeaOrmBackend};

const SIZE: u32 = 3;
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(2);

/// Everything that callers do goes over it, and what the outbox does itself does not.
pub(super) async fn a_pool_that_is_handed_in_is_the_callers(setup: &Setup, url: &str) {
    let pool = match setup.outbox.dialect() {
        Dialect::MySql => server_pool(SIZE, "DO 0").connect(url).await.expect("connect").into(),
        Dialect::Sqlite => file_pool().connect(url).await.expect("connect").into(),
    };
    works_with(setup, pool).await;
    let hardened =
        HardenedPool { max_connections: SIZE, acquire_timeout: ACQUIRE_TIMEOUT, ..HardenedPool::default() };
    let pool = Database::connect(hardened.options(url).expect("options")).await.expect("connect");
    works_with(setup, pool).await;
}

async fn works_with(setup: &Setup, pool: DatabaseConnection) {
    let outbox = SeaOrmOutbox::from_pool(pool.clone(), OpenOptions::default()).await.expect("open");
    let tx = pool.begin().await.expect("begin");
    assert_eq!(outbox.enqueue(&tx, &[setup.message()]).await.expect("enqueue"), [New]);
    tx.commit().await.expect("commit");
    let tx = outbox.begin().await.expect("begin");
    assert_eq!(outbox.enqueue(&tx, &[setup.message()]).await.expect("enqueue"), [New]);
    outbox.commit(tx).await.expect("commit");
    assert_eq!(outbox.enqueue_now(&[setup.message()]).await.expect("enqueue"), [New]);
    sessions_are_as_they_were(&pool).await;
    let instance = Instance::new(1, Ports::of(outbox.clone()), setup.queue.clone(), 5);
    let held = try_join_all((0..SIZE).map(|_| pool.begin())).await.expect("all of them");
    for claimed in instance.take(3).await {
        let done = Disposition::Done { emit: vec![] };
        assert_eq!(instance.settle(&claimed.receipt, done).await, Settled::Accepted);
    }
    let error = outbox.enqueue_now(&[setup.message()]).await.expect_err("one more than there are");
    assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
    assert!(error.to_string().contains("all 3 connections for callers were in use for 2s"), "{error}");
    drop(held);
    assert_eq!(depth(setup).await, 0);
}

/// Nothing that the outbox needs for its own transactions is left on a connection of the caller.
async fn sessions_are_as_they_were(pool: &DatabaseConnection) {
    if pool.get_database_backend() != DbBackend::MySql {
        return;
    }
    let asked = || Statement::from_string(DbBackend::MySql, "SELECT CAST(@@autocommit AS SIGNED)");
    let all = try_join_all((0..SIZE).map(|_| pool.get_mysql_connection_pool().acquire())).await.expect("all");
    for mut connection in all {
        let on = claimstream_sea_orm::SqlxMySql::new(&mut connection);
        let row = on.query_one_raw(asked()).await.expect("an answer").expect("a row");
        assert_eq!(row.try_get_by_index::<i64>(0).expect("a number"), 1);
    }
}

/// A cancelled caller leaves its transaction open there, and the next one's writes would be lost with it.
pub(super) async fn a_pool_that_does_not_roll_back_is_refused(setup: &Setup, url: &str) {
    let pool = Database::connect(url).await.expect("connect");
    refused_for(
        SeaOrmOutbox::from_pool(pool.clone(), OpenOptions::default()).await,
        &["after_release", "ROLLBACK"],
    );
    let tx = setup.outbox.begin().await.expect("begin");
    let lock = "UPDATE claimstream_shard SET shard = shard WHERE shard = 0";
    tx.execute_unprepared(lock).await.expect("nothing is left open");
    tx.rollback().await.expect("roll back");
}

/// What would have an enqueue refused, cut or lost is found when the outbox is opened, with what would work.
pub(super) async fn a_pool_that_does_not_fit_is_refused(setup: &Setup, url: &str, backend: &SeaOrmBackend) {
    let elsewhere = backend.database().await.expect("a database");
    let _other = SeaOrmOutbox::open(&elsewhere, OpenOptions::default()).await.expect("open");
    let name = |url: &str| {
        url.split_once('?').map_or(url, |(path, _)| path).rsplit_once('/').expect("a name").1.to_owned()
    };
    let moved = format!("USE {}", name(&elsewhere));
    let unfit = [
        (1, "DO 0", ["max_connections must be 2", "2 or more"]),
        (100_000, "DO 0", ["the server takes", "lower the pool's max_connections"]),
        (SIZE, "SET autocommit = 0", ["autocommit is OFF", "SET autocommit = ON"]),
        (SIZE, "SET completion_type = 1", ["completion_type is CHAIN", "SET completion_type = 0"]),
        (SIZE, "SET unique_checks = 0", ["unique_checks is OFF", "SET unique_checks = ON"]),
        (SIZE, "SET sql_mode = ''", ["not strict", "STRICT_TRANS_TABLES"]),
        (SIZE, "SET NAMES latin1", ["character set", "charset=utf8mb4"]),
        (SIZE, &moved, ["do not lead to the database", "instead of changing it with USE"]),
    ];
    for (size, set, words) in unfit {
        let pool: MySqlPool = server_pool(size, set).connect(url).await.expect("connect");
        refused_for(SeaOrmOutbox::from_pool(pool, OpenOptions::default()).await, &words);
    }
    assert_eq!(setup.outbox.enqueue_now(&[setup.message()]).await.expect("nothing is left locked"), [New]);
}

pub(super) async fn a_pool_in_memory_is_refused() {
    let pool: SqlitePool = file_pool().connect("sqlite::memory:").await.expect("connect");
    refused_for(SeaOrmOutbox::from_pool(pool, OpenOptions::default()).await, &["in memory", "name a file"]);
}

fn refused_for(opened: Result<SeaOrmOutbox, StoreError>, words: &[&str]) {
    let error = opened.expect_err(words[0]);
    assert_eq!(error.kind(), StoreErrorKind::Misconfigured, "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} in {error}");
    }
}

/// As a service would make it that knows what a cancelled caller leaves behind.
fn server_pool(size: u32, set: &str) -> MySqlPoolOptions {
    let set = set.to_owned();
    let options = MySqlPoolOptions::new().max_connections(size).acquire_timeout(ACQUIRE_TIMEOUT);
    let options = options.after_connect(move |connection, _| {
        let set = set.clone();
        Box::pin(async move { connection.execute(AssertSqlSafe(set)).await.map(drop) })
    });
    options.after_release(|connection, _| {
        Box::pin(async move { connection.execute("ROLLBACK").await.map(|_| true) })
    })
}

fn file_pool() -> SqlitePoolOptions {
    let options = SqlitePoolOptions::new().max_connections(SIZE).acquire_timeout(ACQUIRE_TIMEOUT);
    options.after_release(|connection, _| {
        Box::pin(async move {
            // It refuses to roll back where nothing was left open.
            let _ = connection.execute("ROLLBACK").await;
            Ok(true)
        })
    })
}
