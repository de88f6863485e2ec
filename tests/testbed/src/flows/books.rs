use std::collections::HashMap;

use claimstream_ports::StoreError;
use claimstream_sea_orm::store_error;
use sea_orm::{ConnectionTrait, Database, DatabaseTransaction, DbBackend, DbErr, Statement};

use super::{AWAY, HOME, member::in_database, relays::TIMERS};
use crate::work::Failure;

/// No key of these tables hides what happens twice.
const TABLES: [&str; 4] = [
    "CREATE TABLE flow_booking (n BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, run VARCHAR(64) NOT NULL, what VARCHAR(32) NOT NULL,
     PRIMARY KEY (n)) ENGINE = InnoDB",
    "CREATE TABLE flow_account (id INT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (id)) ENGINE = InnoDB",
    "CREATE TABLE flow_stock (item VARCHAR(16) NOT NULL, available BIGINT NOT NULL, reserved BIGINT NOT NULL, sold BIGINT NOT NULL,
     PRIMARY KEY (item)) ENGINE = InnoDB",
    "CREATE TABLE flow_tick (n BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, occurrence VARCHAR(40) NOT NULL, PRIMARY KEY (n)) ENGINE = InnoDB",
];

/// How many accounts each database has; few, so that sagas meet.
pub(super) const ACCOUNTS: u32 = 3;
/// What is in each at first.
pub(super) const AMOUNT: i64 = 1_000_000;
/// How many pieces each database has at first.
pub(super) const PIECES: i64 = 1_000_000;

/// Makes both databases with their tables at `url`.
pub(super) async fn make(url: &str) -> Result<(), Failure> {
    let server = Database::connect(url).await?;
    for (name, item) in [(HOME, "stock"), (AWAY, "seat")] {
        server.execute_unprepared(&format!("CREATE DATABASE {name}")).await?;
        let db = Database::connect(in_database(url, name)).await?;
        for table in TABLES {
            db.execute_unprepared(table).await?;
        }
        for account in 0..ACCOUNTS {
            db.execute_unprepared(&format!("INSERT INTO flow_account VALUES ({account}, {AMOUNT})")).await?;
        }
        db.execute_unprepared(&format!("INSERT INTO flow_stock VALUES ('{item}', {PIECES}, 0, 0)")).await?;
        db.close().await?;
    }
    Ok(server.close().await?)
}

/// Notes that a run did something.
pub(super) async fn book(
    tx: &DatabaseTransaction,
    run: impl std::fmt::Display,
    what: &str,
) -> Result<(), StoreError> {
    let sql = format!("INSERT INTO flow_booking (run, what) VALUES ('{run}', '{what}')");
    execute(tx, &sql).await.map(|_| ())
}

/// Carries out a statement; answers how many rows it changed.
pub(super) async fn execute(tx: &DatabaseTransaction, sql: &str) -> Result<u64, StoreError> {
    let done = tx.execute_unprepared(sql).await.map_err(|error| store_error("book", error))?;
    Ok(done.rows_affected())
}

/// How many messages there are without those of the timer.
pub(super) async fn left(db: &impl ConnectionTrait) -> Result<i64, Failure> {
    number(db, &format!("SELECT COUNT(*) FROM claimstream_queue WHERE queue <> '{TIMERS}'")).await
}

/// How many occurrences of the timer have been noted.
pub(super) async fn ticks(db: &impl ConnectionTrait) -> Result<i64, Failure> {
    number(db, "SELECT COUNT(*) FROM flow_tick").await
}

/// How often each run has done what.
pub(super) async fn bookings(
    db: &impl ConnectionTrait,
    into: &mut HashMap<String, HashMap<String, usize>>,
) -> Result<(), DbErr> {
    for row in rows(db, "SELECT run, what FROM flow_booking").await? {
        let (run, what): (String, String) = (row.try_get_by_index(0)?, row.try_get_by_index(1)?);
        *into.entry(run).or_default().entry(what).or_default() += 1;
    }
    Ok(())
}

pub(super) async fn number(db: &impl ConnectionTrait, sql: &str) -> Result<i64, Failure> {
    let found = rows(db, sql).await?;
    Ok(found.first().ok_or("no answer")?.try_get_by_index(0)?)
}

pub(super) async fn rows(db: &impl ConnectionTrait, sql: &str) -> Result<Vec<sea_orm::QueryResult>, DbErr> {
    db.query_all_raw(Statement::from_string(DbBackend::MySql, sql)).await
}
