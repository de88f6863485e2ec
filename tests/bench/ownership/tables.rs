use std::collections::HashMap;

use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement};
use uuid::Uuid;

use crate::{
    Failure,
    history::{Answer, HandOut, How, Turn},
};

/// What instances note, and what the database notes by itself.
///
/// The triggers write in the transaction that counts an attempt or ends a message, so that what they say happened exactly
/// if it is committed, whatever becomes of the process.
const TABLES: [&str; 5] = [
    "CREATE TABLE ownership_hand_out (
        n BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, id BINARY(16) NOT NULL, attempt INT UNSIGNED NOT NULL,
        instance INT UNSIGNED NOT NULL, shard SMALLINT UNSIGNED NOT NULL, begun BIGINT NOT NULL,
        lease_left BIGINT NOT NULL, is_early TINYINT NOT NULL, PRIMARY KEY (n)) ENGINE = InnoDB",
    "CREATE TABLE ownership_answer (
        n BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, id BINARY(16) NOT NULL, attempt INT UNSIGNED NOT NULL,
        is_accepted TINYINT NOT NULL, PRIMARY KEY (n)) ENGINE = InnoDB",
    "CREATE TABLE ownership_turn (
        n BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, id BINARY(16) NOT NULL, shard SMALLINT UNSIGNED NOT NULL,
        how VARCHAR(8) NOT NULL, attempt INT UNSIGNED NOT NULL, at BIGINT NOT NULL,
        PRIMARY KEY (n), KEY turns_of_message (id, how)) ENGINE = InnoDB",
    "CREATE TRIGGER ownership_ended AFTER DELETE ON claimstream_queue FOR EACH ROW
     INSERT INTO ownership_turn (id, shard, how, attempt, at)
     VALUES (OLD.id, OLD.shard, 'ended', OLD.attempts + 1,
             TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)))",
    "CREATE TRIGGER ownership_counted AFTER UPDATE ON claimstream_queue FOR EACH ROW
     INSERT INTO ownership_turn (id, shard, how, attempt, at)
     SELECT NEW.id, NEW.shard,
            CASE WHEN NEW.attempts < OLD.attempts THEN 'back'
                 WHEN NEW.claimed_from IS NOT NULL THEN 'cut_off'
                 WHEN NEW.available_at = OLD.available_at AND NEW.parked_until <=> OLD.parked_until THEN 'lapsed'
                 ELSE 'failed' END,
            GREATEST(NEW.attempts, OLD.attempts),
            TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))
       FROM DUAL WHERE NEW.attempts <> OLD.attempts",
];

/// Makes the tables and the triggers; the outbox's own tables must be there.
pub(crate) async fn make(db: &DatabaseConnection) -> Result<(), Failure> {
    for table in TABLES {
        db.execute_unprepared(table).await?;
    }
    Ok(())
}

/// Every hand-out, in the order in which they were noted.
pub(crate) async fn hand_outs(db: &DatabaseConnection) -> Result<Vec<HandOut>, Failure> {
    let sql = "SELECT id, attempt, begun, lease_left, is_early, instance FROM ownership_hand_out ORDER BY n";
    let read = |row: QueryResult| {
        Ok(HandOut {
            id: id(&row)?,
            attempt: row.try_get_by_index(1)?,
            begun: row.try_get_by_index(2)?,
            lease_left: row.try_get_by_index(3)?,
            is_early: row.try_get_by_index(4)?,
            instance: row.try_get_by_index(5)?,
        })
    };
    rows(db, sql).await?.into_iter().map(read).collect()
}

/// Every attempt that was counted or taken back and every end, in the order in which they were noted.
pub(crate) async fn turns(db: &DatabaseConnection) -> Result<Vec<Turn>, Failure> {
    let sql = "SELECT id, shard, how, attempt, at FROM ownership_turn ORDER BY n";
    let read = |row: QueryResult| {
        let how: String = row.try_get_by_index(2)?;
        Ok(Turn {
            id: id(&row)?,
            shard: row.try_get_by_index(1)?,
            how: match how.as_str() {
                "ended" => How::Ended,
                "failed" => How::Failed,
                "lapsed" => How::Lapsed,
                "back" => How::TakenBack,
                _ => How::CutOff,
            },
            attempt: row.try_get_by_index(3)?,
            at: row.try_get_by_index(4)?,
        })
    };
    rows(db, sql).await?.into_iter().map(read).collect()
}

/// What instances were answered about their settlements.
pub(crate) async fn answers(db: &DatabaseConnection) -> Result<Vec<Answer>, Failure> {
    let sql = "SELECT id, attempt, is_accepted FROM ownership_answer ORDER BY n";
    let read = |row: QueryResult| {
        Ok(Answer { id: id(&row)?, attempt: row.try_get_by_index(1)?, is_accepted: row.try_get_by_index(2)? })
    };
    rows(db, sql).await?.into_iter().map(read).collect()
}

/// The dead letters and how often each was tried.
pub(crate) async fn dead(db: &DatabaseConnection) -> Result<HashMap<Uuid, u32>, Failure> {
    let found = rows(db, "SELECT id, attempts FROM claimstream_dead").await?;
    found.into_iter().map(|row| Ok((id(&row)?, row.try_get_by_index(1)?))).collect()
}

/// How many messages are not done.
pub(crate) async fn depth(db: &DatabaseConnection) -> Result<i64, Failure> {
    number(db, "SELECT COUNT(*) FROM claimstream_queue").await
}

/// The label of every instance that holds shards under a lease that runs, and those shards.
pub(crate) async fn holders(db: &DatabaseConnection) -> Result<HashMap<String, Vec<u16>>, Failure> {
    let sql = "SELECT CAST(label AS CHAR), shard FROM claimstream_lease
                WHERE holder IS NOT NULL AND held_until > UTC_TIMESTAMP(6)";
    let mut holders: HashMap<String, Vec<u16>> = HashMap::new();
    for row in rows(db, sql).await? {
        let label: Option<String> = row.try_get_by_index(0)?;
        holders.entry(label.unwrap_or_default()).or_default().push(row.try_get_by_index(1)?);
    }
    Ok(holders)
}

/// One number.
pub(crate) async fn number(db: &DatabaseConnection, sql: &str) -> Result<i64, Failure> {
    let found = rows(db, sql).await?;
    let number: Option<i64> = found.first().ok_or("no answer")?.try_get_by_index(0)?;
    Ok(number.unwrap_or_default())
}

pub(crate) async fn rows(db: &DatabaseConnection, sql: &str) -> Result<Vec<QueryResult>, Failure> {
    Ok(db.query_all_raw(Statement::from_string(DbBackend::MySql, sql)).await?)
}

fn id(row: &QueryResult) -> Result<Uuid, Failure> {
    Ok(Uuid::from_slice(&row.try_get_by_index::<Vec<u8>>(0)?)?)
}
