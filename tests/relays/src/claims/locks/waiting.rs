use std::time::Duration;

use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::{DbBackend, QueryResult, Statement};

use super::rows::{rows, text};

/// Returns when a statement in this database has been seen under way twice in a row: it waits. Answers whose it is.
///
/// `SHOW` can be asked while values that are no text are on their way; the tables with the same content cannot, on MySQL.
pub(crate) async fn somebody_waits(beside: &SeaOrmOutbox) -> u64 {
    let ask = |sql: &str| Statement::from_string(DbBackend::MySql, sql);
    let name = rows(beside.connection(), ask("SELECT DATABASE() AS db")).await;
    let is_busy = |row: &QueryResult| {
        let ours = text(row, "db") == text(&name[0], "db");
        ours && text(row, "Command") != "Sleep" && !text(row, "Info").starts_with("SHOW")
    };
    let mut seen = 0;
    for _ in 0..400 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let found = rows(beside.connection(), ask("SHOW PROCESSLIST")).await;
        let busy = found.iter().find(|row| is_busy(row));
        seen = if busy.is_some() { seen + 1 } else { 0 };
        if let (2, Some(row)) = (seen, busy) {
            let signed = row.try_get::<i64>("", "Id").map(|id| id as u64);
            return row.try_get::<u64>("", "Id").or(signed).expect("an id");
        }
    }
    panic!("nobody waits for a lock");
}
