use std::{error::Error, time::Duration};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{DbErr, RuntimeErr, sqlx};

/// The one place that says what kind of trouble a database error is.
pub(crate) fn classify(operation: &'static str, error: DbErr) -> StoreError {
    StoreError::new(kind_of(&error), operation, error)
}

/// An error of a caller's own statement as the ports would name it, so that a transaction that met a deadlock in it can be
/// told from one that cannot be helped. `operation` is a verb such as `reserve`.
pub fn store_error(operation: &'static str, error: DbErr) -> StoreError {
    classify(operation, error)
}

/// What is stored, or is to be stored, is not what it must be.
pub(crate) fn corrupt(operation: &'static str, why: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, operation, why)
}

/// Whether a commit that failed like this may have taken effect all the same.
pub(crate) fn may_have_committed(error: &StoreError) -> bool {
    error.kind() == StoreErrorKind::Unavailable
}

/// An error at COMMIT: unless it is one that is known to undo the transaction, nobody knows whether it took effect.
pub(crate) fn classify_commit(operation: &'static str, error: DbErr) -> StoreError {
    match kind_of(&error) {
        kind @ (StoreErrorKind::Transient | StoreErrorKind::Conflict) => {
            StoreError::new(kind, operation, error)
        }
        _ => StoreError::new(StoreErrorKind::Unavailable, operation, error),
    }
}

/// Whether other connections must be thought to be broken as well: the link is, the server went away, or it takes no
/// writes any more.
pub(crate) fn is_outage(error: &StoreError) -> bool {
    let source = std::error::Error::source(error);
    match source.and_then(|source| source.downcast_ref::<DbErr>()).and_then(sqlx_error) {
        Some(sqlx::Error::Database(refused)) => is_outage_number(refused.as_ref()),
        Some(sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_)) => true,
        Some(_) => false,
        None => source.is_some_and(|source| source.is::<TookTooLong>()),
    }
}

/// A statement that was given up because its answer did not come.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
pub(crate) struct TookTooLong(pub(crate) Duration);

/// Whether a statement that does not wait met a lock of somebody else: MySQL says 3572, MariaDB 1205, SQLite BUSY.
pub(crate) fn is_locked_by_another(error: &StoreError) -> bool {
    let source = std::error::Error::source(error);
    let Some(sqlx::Error::Database(refused)) =
        source.and_then(|source| source.downcast_ref::<DbErr>()).and_then(sqlx_error)
    else {
        return false;
    };
    #[cfg(feature = "mysql")]
    if let Some(refused) = refused.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return matches!(refused.number(), 3572 | 1205);
    }
    let code: u32 = refused.code().and_then(|code| code.parse().ok()).unwrap_or_default();
    code & 0xff == 5
}

/// Whether the server has answered, if only to refuse: the connection is as good as before.
#[cfg(feature = "mysql")]
pub(crate) fn is_answer(error: &DbErr) -> bool {
    matches!(sqlx_error(error), Some(sqlx::Error::Database(_)))
}

fn kind_of(error: &DbErr) -> StoreErrorKind {
    match sqlx_error(error) {
        Some(sqlx::Error::Database(refused)) => refused_kind(refused.as_ref()),
        Some(
            sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::Decode(_)
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::ColumnIndexOutOfBounds { .. }
            | sqlx::Error::TypeNotFound { .. }
            | sqlx::Error::Encode(_),
        ) => StoreErrorKind::Corrupt,
        Some(sqlx::Error::Configuration(_)) => StoreErrorKind::Unsupported,
        Some(_) => StoreErrorKind::Unavailable,
        None => match error {
            DbErr::Conn(_) | DbErr::ConnectionAcquire(_) => StoreErrorKind::Unavailable,
            DbErr::BackendNotSupported { .. } => StoreErrorKind::Unsupported,
            _ => StoreErrorKind::Corrupt,
        },
    }
}

pub(crate) fn sqlx_error(error: &DbErr) -> Option<&sqlx::Error> {
    match error {
        DbErr::Exec(RuntimeErr::SqlxError(error))
        | DbErr::Query(RuntimeErr::SqlxError(error))
        | DbErr::Conn(RuntimeErr::SqlxError(error)) => Some(error),
        _ => None,
    }
}

#[cfg(feature = "mysql")]
fn is_outage_number(error: &dyn sqlx::error::DatabaseError) -> bool {
    // Read-only server; shutdown; connection killed; offline mode; node not ready; closed for being idle; cut links.
    error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>().is_some_and(|error| {
        matches!(error.number(), 1290 | 1836 | 1053 | 1927 | 3169 | 3032 | 1047 | 4031 | 1158..=1161)
    })
}

#[cfg(not(feature = "mysql"))]
fn is_outage_number(_: &dyn sqlx::error::DatabaseError) -> bool {
    false
}

fn refused_kind(error: &dyn sqlx::error::DatabaseError) -> StoreErrorKind {
    #[cfg(feature = "mysql")]
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return mysql_kind(error.number());
    }
    sqlite_kind(error.code().as_deref().unwrap_or_default())
}

/// MySQL and MariaDB; the numbers are those of their error reference.
#[cfg(feature = "mysql")]
fn mysql_kind(number: u16) -> StoreErrorKind {
    match number {
        // Deadlock; record changed since the snapshot; lock wait; NOWAIT; query killed; statement timeouts; GET_LOCK
        // deadlock; metadata lock deadlock.
        1213 | 1020 | 1205 | 3572 | 1317 | 1969 | 3024 | 3058 | 1479 => StoreErrorKind::Transient,
        // Duplicate key, and duplicate key name from a schema that is being made twice.
        1062 | 1586 => StoreErrorKind::Conflict,
        // Read-only server; shutdown; too many connections; connection killed; too many prepared statements; disk full;
        // node of a cluster not ready; offline mode; cut links; closed for being idle; commits refused by replication;
        // error during commit.
        1290
        | 1836
        | 1053
        | 1040
        | 1927
        | 1461
        | 1203
        | 1021
        | 1226
        | 3169
        | 1047
        | 3032
        | 1158..=1161
        | 4031
        | 3100
        | 3101
        | 1180 => StoreErrorKind::Unavailable,
        // Syntax; unknown table, column, database, variable, savepoint; access denied; READ ONLY transaction; statement
        // binlog.
        1064 | 1146 | 1054 | 1049 | 1193 | 1044 | 1045 | 1142 | 1143 | 1227 | 1792 | 1665 | 1235 | 1305 => {
            StoreErrorKind::Unsupported
        }
        _ => StoreErrorKind::Corrupt,
    }
}

/// SQLite; the low byte of an extended result code is its family.
fn sqlite_kind(code: &str) -> StoreErrorKind {
    let code: u32 = code.parse().unwrap_or_default();
    match (code, code & 0xff) {
        // UNIQUE and PRIMARY KEY.
        (2067 | 1555, _) => StoreErrorKind::Conflict,
        // BUSY, LOCKED, INTERRUPT, SCHEMA (which somebody has just changed).
        (_, 5 | 6 | 9 | 17) => StoreErrorKind::Transient,
        // READONLY, IOERR, FULL, CANTOPEN.
        (_, 8 | 10 | 13 | 14) => StoreErrorKind::Unavailable,
        // ERROR (such as an unknown table), PERM, AUTH.
        (_, 1 | 3 | 23) => StoreErrorKind::Unsupported,
        _ => StoreErrorKind::Corrupt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "mysql")]
    fn mysql_numbers_have_their_kinds() {
        assert!(
            [1213, 1020, 1205, 3572, 1317, 1969].iter().all(|n| mysql_kind(*n) == StoreErrorKind::Transient)
        );
        assert!(
            [1290, 1836, 1040, 1047, 3032, 1160, 4031, 3100, 1180]
                .iter()
                .all(|n| mysql_kind(*n) == StoreErrorKind::Unavailable)
        );
        assert_eq!(mysql_kind(1062), StoreErrorKind::Conflict);
        assert_eq!(mysql_kind(1064), StoreErrorKind::Unsupported);
        assert_eq!(mysql_kind(1406), StoreErrorKind::Corrupt);
    }

    #[test]
    fn sqlite_codes_have_their_kinds() {
        assert_eq!(sqlite_kind("5"), StoreErrorKind::Transient);
        assert_eq!(sqlite_kind("517"), StoreErrorKind::Transient);
        assert_eq!(sqlite_kind("17"), StoreErrorKind::Transient);
        assert_eq!(sqlite_kind("2067"), StoreErrorKind::Conflict);
        assert_eq!(sqlite_kind("13"), StoreErrorKind::Unavailable);
        assert_eq!(sqlite_kind("11"), StoreErrorKind::Corrupt);
    }
}
