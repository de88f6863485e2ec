//! Databases that tests are lent, emptied and lent again: making their tables costs a server more than most tests do.

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    path::Path,
    sync::{
        LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use claimstream_domain::ShardCount;
use claimstream_sea_orm::{Capability, Dialect, OpenOptions, SeaOrmOutbox, schema};
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

/// A database of this server as an opening makes it; `None` outside of a test.
pub(crate) async fn lend(server: &str, name: &str, shards: ShardCount) -> Result<Option<String>, DbErr> {
    if LENT.with_borrow(Option::is_none) {
        return Ok(None);
    }
    let untouched = untouched(server, name).await?;
    let mut in_use = Vec::new();
    let found = loop {
        // The one that has been free for longest comes first: where two are in use, others are too.
        let free = match in_use.len() {
            0 | 1 => servers().entry(server.to_owned()).or_default().free.pop_front(),
            _ => None,
        };
        let Some(free) = free else { break None };
        match restore(&free.url(), &untouched, shards).await {
            Ok(Restored::Yes) => break Some(free),
            Ok(Restored::InUse) => in_use.push(free),
            Ok(Restored::No) | Err(_) => {}
        }
    };
    servers().entry(server.to_owned()).or_default().free.extend(in_use);
    let database = match found {
        Some(found) => found,
        None => {
            let made = ScratchDatabase::create(server, name).await?;
            open(&made.url(), shards).await?;
            made
        }
    };
    let url = database.url();
    LENT.with_borrow_mut(|lent| lent.get_or_insert_default().push((server.to_owned(), database)));
    Ok(Some(url))
}

/// A copy of a SQLite database with other shards and another identity.
pub(crate) async fn copy(untouched: &Path, to: &Path, shards: ShardCount) -> Result<(), DbErr> {
    static COPIES: AtomicU32 = AtomicU32::new(1);
    std::fs::copy(untouched, to).map_err(|e| DbErr::Custom(e.to_string()))?;
    let db = Database::connect(file_url(to)).await?;
    let number = COPIES.fetch_add(1, Ordering::Relaxed);
    let identity = format!("UPDATE claimstream_schema SET applied_at = applied_at + {number};");
    db.execute_unprepared(&format!("BEGIN; {identity} {} COMMIT", cut_into(shards))).await?;
    db.close().await
}

/// Makes the SQLite database that is copied.
pub(crate) async fn make_untouched(file: &Path) -> Result<(), DbErr> {
    let first = file.with_extension("first");
    open(&file_url(&first), ShardCount::default()).await?;
    let db = Database::connect(file_url(&first)).await?;
    // One file, without a log of what is not in it yet.
    db.execute_unprepared(&format!("VACUUM INTO '{}'", file.display())).await?;
    db.close().await
}

/// The URL of a SQLite database.
pub(crate) fn file_url(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

async fn open(url: &str, shards: ShardCount) -> Result<SeaOrmOutbox, DbErr> {
    // Whatever the strategy of a backend is, it finds the same tables.
    let capabilities = Capability::ALL.iter().copied().collect();
    SeaOrmOutbox::open(url, OpenOptions { capabilities, shards, ..OpenOptions::default() })
        .await
        .map_err(|e| DbErr::Custom(e.to_string()))
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
    open(&database.url(), ShardCount::default()).await?;
    let db = Database::connect(&database.url()).await?;
    let shape = shape(&db).await?;
    db.close().await?;
    servers().entry(server.to_owned()).or_default().untouched = Some(shape.clone());
    Ok(shape)
}

/// What became of an attempt to restore a database.
enum Restored {
    Yes,
    /// Something is still connected to it.
    InUse,
    /// Its tables have been changed.
    No,
}

/// Leaves the rows that an opening makes, with a new identity.
async fn restore(url: &str, untouched: &str, shards: ShardCount) -> Result<Restored, DbErr> {
    let db = Database::connect(url).await?;
    let restored = if !is_free(&db).await {
        Restored::InUse
    } else if shape(&db).await? != untouched {
        Restored::No
    } else {
        let tables = "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES \
            WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA = DATABASE()";
        // One request and one commit for all of them.
        let mut sent = String::from("START TRANSACTION;");
        for row in all(&db, tables).await? {
            sent += &format!("DELETE FROM {};", row.try_get_by_index::<String>(0)?);
        }
        let versions = Capability::ALL.iter().flat_map(|capability| {
            let versions = schema(Dialect::MySql, *capability).iter();
            versions.map(move |(version, _)| format!("('{capability}', {version}, UTC_TIMESTAMP(6))"))
        });
        let versions: Vec<_> = versions.collect();
        sent += &format!(
            "INSERT INTO claimstream_schema (capability, version, applied_at) VALUES {}; {} COMMIT",
            versions.join(", "),
            cut_into(shards)
        );
        db.execute_unprepared(&sent).await?;
        Restored::Yes
    };
    db.close().await?;
    Ok(restored)
}

/// The statements that leave these shards and no others.
fn cut_into(shards: ShardCount) -> String {
    let rows: Vec<_> = shards.shards().map(|shard| format!("({})", shard.number())).collect();
    format!(
        "DELETE FROM claimstream_shard; INSERT INTO claimstream_shard (shard) VALUES {};",
        rows.join(", ")
    )
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
