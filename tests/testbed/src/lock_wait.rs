use std::sync::Mutex;

use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::{DbBackend, QueryResult, Statement};

use crate::{
    eventually,
    statement::{rows, text},
};

/// Returns when one statement in this database has been seen under way in several looks in a row: it waits. Returns its connection's id.
///
/// `SHOW` can be asked while values that are no text are on their way; the tables with the same content cannot, on MySQL.
pub async fn statement_waits(outbox: &SeaOrmOutbox) -> u64 {
    let ask = |sql: &str| Statement::from_string(DbBackend::MySql, sql);
    let name = &text(&rows(outbox.connection(), ask("SELECT DATABASE() AS db")).await[0], "db");
    let is_busy = |row: &QueryResult| {
        text(row, "db") == *name && text(row, "Command") != "Sleep" && !text(row, "Info").starts_with("SHOW")
    };
    let (is_busy, seen) = (&is_busy, &Mutex::new((0, 0)));
    eventually("a statement waits for a lock", || async move {
        let found = rows(outbox.connection(), ask("SHOW PROCESSLIST")).await;
        let busy = found.iter().find(|row| is_busy(row)).map_or(0, id);
        let mut seen = seen.lock().expect("no panic");
        *seen = (busy, if busy == seen.0 { seen.1 + 1 } else { 1 });
        busy != 0 && seen.1 == IN_A_ROW
    })
    .await;
    seen.lock().expect("no panic").0
}

/// A statement that waits for nothing is hardly seen twice.
const IN_A_ROW: u32 = 5;

/// Servers differ about the sign.
fn id(row: &QueryResult) -> u64 {
    row.try_get::<u64>("", "Id").unwrap_or_else(|_| row.try_get::<i64>("", "Id").expect("an id") as u64)
}
