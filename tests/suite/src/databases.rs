//! Databases that tests are lent, emptied and lent again: MySQL takes a second to make the tables of another one, and makes no others
//! meanwhile.

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::ScratchDatabase;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, DbErr, QueryResult, Statement};

/// The databases of one server.
#[derive(Default)]
struct Server {
    /// Those that no test uses.
    free: VecDeque<ScratchDatabase>,
    /// What the tables of an untouched one look like.
    untouched: Option<String>,
}

static SERVERS: LazyLock<Mutex<HashMap<String, Server>>> = LazyLock::new(Mutex::default);

thread_local! {
    /// What the test that runs on this thread was lent, with the URL of its server.
    static LENT: RefCell<Option<Vec<(String, ScratchDatabase)>>> = const { RefCell::new(None) };
}

/// Runs a test; what it is lent meanwhile is free again after it.
pub(crate) fn lending<T>(
    test: impl FnOnce() -> Result<T, libtest_mimic::Failed>,
) -> Result<T, libtest_mimic::Failed> {
    LENT.set(Some(Vec::new()));
    let done = test();
    let lent = LENT.take().unwrap_or_default();
    if done.is_ok() {
        let mut servers = servers();
        for (server, database) in lent {
            servers.entry(server).or_default().free.push_back(database);
        }
    }
    done
}

/// A database of this server without rows, whose tables are as they are made or still missing; `None` outside of a test.
pub(crate) async fn lend(server: &str, name: &str) -> Result<Option<String>, DbErr> {
    if LENT.with_borrow(Option::is_none) {
        return Ok(None);
    }
    let untouched = untouched(server, name).await?;
    let database = loop {
        let free = servers().entry(server.to_owned()).or_default().free.pop_front();
        let Some(free) = free else { break ScratchDatabase::create(server, name).await? };
        if empty(&free.url(), &untouched).await.unwrap_or_default() {
            break free;
        }
    };
    let url = database.url();
    LENT.with_borrow_mut(|lent| lent.get_or_insert_default().push((server.to_owned(), database)));
    Ok(Some(url))
}

/// Drops what was lent.
pub(crate) fn drop_all() {
    let all = std::mem::take(&mut *servers());
    drop(all);
}

fn servers() -> MutexGuard<'static, HashMap<String, Server>> {
    SERVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn untouched(server: &str, name: &str) -> Result<String, DbErr> {
    if let Some(known) = servers().get(server).and_then(|server| server.untouched.clone()) {
        return Ok(known);
    }
    let database = ScratchDatabase::create(server, &format!("{name}_untouched")).await?;
    SeaOrmOutbox::open(&database.url(), OpenOptions::default())
        .await
        .map_err(|e| DbErr::Custom(e.to_string()))?;
    let db = Database::connect(&database.url()).await?;
    let shape = shape(&db).await?;
    db.close().await?;
    servers().entry(server.to_owned()).or_default().untouched = Some(shape.clone());
    Ok(shape)
}

/// Removes all rows, with which the next outbox takes the tables for new ones; false if something is still connected or a table has been
/// changed.
async fn empty(url: &str, untouched: &str) -> Result<bool, DbErr> {
    let db = Database::connect(url).await?;
    let is_free = is_free(&db).await && shape(&db).await? == untouched;
    if is_free {
        let tables = "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES \
            WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA = DATABASE()";
        // One request and one commit for all of them.
        let mut emptying = String::from("START TRANSACTION;");
        for row in all(&db, tables).await? {
            emptying += &format!("DELETE FROM {};", row.try_get_by_index::<String>(0)?);
        }
        db.execute_unprepared(&(emptying + "COMMIT")).await?;
    }
    db.close().await?;
    Ok(is_free)
}

/// Whether the connections of the last test end soon.
async fn is_free(db: &DatabaseConnection) -> bool {
    for _ in 0..100 {
        let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE()";
        // MySQL refuses to list statements that are no UTF-8 while they run.
        let counted = all(db, sql).await.ok().and_then(|rows| rows.first()?.try_get_by_index::<i64>(0).ok());
        if counted == Some(1) {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

/// The columns, indexes, triggers and routines.
async fn shape(db: &DatabaseConnection) -> Result<String, DbErr> {
    let sql = "SELECT CAST(CONCAT_WS('/', \
        (SELECT SUM(CRC32(CONCAT_WS(',', TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, ORDINAL_POSITION))) \
           FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()), \
        (SELECT SUM(CRC32(CONCAT_WS(',', TABLE_NAME, INDEX_NAME, COLUMN_NAME, SEQ_IN_INDEX))) \
           FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()), \
        (SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()), \
        (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE())) AS CHAR)";
    all(db, sql).await?.first().map_or(Ok(String::new()), |row| row.try_get_by_index(0))
}

async fn all(db: &DatabaseConnection, sql: &str) -> Result<Vec<QueryResult>, DbErr> {
    db.query_all_raw(Statement::from_string(DbBackend::MySql, sql)).await
}
