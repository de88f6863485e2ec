use std::{error::Error, time::Duration};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr, sqlx};

/// The one place that says what kind of trouble a database error is.
pub(crate) fn classify(operation: &'static str, error: DbErr) -> StoreError {
    let (kind, advice) = (kind_of(&error), advice(operation, &error));
    let error = StoreError::new(kind, operation, error);
    match advice {
        Some(advice) => error.with_advice(advice),
        None => error,
    }
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
    let inner = error.get_ref();
    match inner.downcast_ref::<DbErr>().and_then(sqlx_error) {
        Some(sqlx::Error::Database(refused)) => is_outage_number(refused.as_ref()),
        Some(sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_)) => true,
        Some(_) => false,
        None => inner.is::<TookTooLong>(),
    }
}

/// A statement that was given up because its answer did not come.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
pub(crate) struct TookTooLong(pub(crate) Duration);

/// Whether a statement that does not wait met a lock of somebody else: MySQL says 3572, MariaDB 1205, SQLite BUSY.
pub(crate) fn is_locked_by_another(error: &StoreError) -> bool {
    let inner = error.get_ref().downcast_ref::<DbErr>();
    let Some(sqlx::Error::Database(refused)) = inner.and_then(sqlx_error) else { return false };
    #[cfg(feature = "mysql")]
    if let Some(refused) = refused.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return matches!(refused.number(), 3572 | 1205);
    }
    let code: u32 = refused.code().and_then(|code| code.parse().ok()).unwrap_or_default();
    code & 0xff == 5
}

/// The number by which the database has refused a statement, if it has.
pub(crate) fn refusal(error: &DbErr) -> Option<u32> {
    let Some(sqlx::Error::Database(refused)) = sqlx_error(error) else { return None };
    #[cfg(feature = "mysql")]
    if let Some(refused) = refused.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return Some(refused.number().into());
    }
    refused.code()?.parse().ok()
}

/// Whether it is known that nothing was written, because a statement was refused before its transaction was to be committed,
/// and other statements may fare better: it is about what they say, or it passes.
pub(crate) fn is_refused(error: &StoreError) -> bool {
    let answered = || error.get_ref().downcast_ref::<DbErr>().is_some_and(is_answer) && !is_outage(error);
    match error.kind() {
        StoreErrorKind::Transient | StoreErrorKind::Corrupt | StoreErrorKind::Conflict => true,
        _ => answered(),
    }
}

/// Whether the server has answered, if only to refuse: the connection is as good as before.
pub(crate) fn is_answer(error: &DbErr) -> bool {
    matches!(sqlx_error(error), Some(sqlx::Error::Database(_)))
}

/// Whether a table was not found.
pub(crate) fn is_missing_table(error: &StoreError) -> bool {
    error.get_ref().downcast_ref::<DbErr>().and_then(missing_table).is_some()
}

/// What the database says about a table that it does not have, if it says so.
fn missing_table(error: &DbErr) -> Option<&str> {
    let Some(sqlx::Error::Database(refused)) = sqlx_error(error) else { return None };
    #[cfg(feature = "mysql")]
    if let Some(refused) = refused.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return (refused.number() == NO_TABLE).then(|| refused.message());
    }
    refused.message().starts_with(SQLITE_NO_TABLE).then(|| refused.message())
}

/// The number of MySQL and MariaDB for a table that is not there.
#[cfg(feature = "mysql")]
const NO_TABLE: u16 = 1146;
/// SQLite has no number of its own for it.
const SQLITE_NO_TABLE: &str = "no such table";

/// What helps against a right or a table that is missing.
fn advice(operation: &'static str, error: &DbErr) -> Option<&'static str> {
    if missing_table(error).is_some_and(|text| text.contains("claimstream_")) {
        return Some(
            "run `claimstream schema apply`, or open with create_schema = true, unless the table was renamed",
        );
    }
    if !matches!(refusal(error)?, 1044 | 1142 | 1143 | 1227) {
        return None;
    }
    Some(match operation {
        "schema" => {
            "grant the user of the database URL the rights to make tables that docs/rights.md lists, or have another user \
             run `claimstream schema apply` and open with create_schema = false"
        }
        _ => {
            "grant the user of the database URL the rights on this database's tables that docs/rights.md lists"
        }
    })
}

/// What is corrupt, a conflict or unsupported is listed; whatever is unknown may pass.
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
        Some(sqlx::Error::Configuration(_)) => StoreErrorKind::Misconfigured,
        Some(error) if lacks_tls(error) => StoreErrorKind::Misconfigured,
        Some(_) => StoreErrorKind::Unavailable,
        None => match error {
            DbErr::BackendNotSupported { .. } => StoreErrorKind::Unsupported,
            DbErr::TryIntoErr { .. }
            | DbErr::Type(_)
            | DbErr::Json(_)
            | DbErr::ConvertFromU64(_)
            | DbErr::UnpackInsertId
            | DbErr::UpdateGetPrimaryKey
            | DbErr::RecordNotFound(_)
            | DbErr::RecordNotInserted
            | DbErr::RecordNotUpdated
            | DbErr::AttrNotSet(_) => StoreErrorKind::Corrupt,
            _ => StoreErrorKind::Unavailable,
        },
    }
}

/// Whether the URL asks for TLS and the driver was built without it, which it says in words alone.
pub(crate) fn lacks_tls(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Tls(why) if why.to_string().contains("built without TLS"))
}

/// Whether the pool had no connection to give in time; it does not say why.
pub(crate) fn is_pool_timeout(error: &DbErr) -> bool {
    match error {
        DbErr::ConnectionAcquire(ConnAcquireErr::Timeout) => true,
        error => matches!(sqlx_error(error), Some(sqlx::Error::PoolTimedOut)),
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
    if let Some(refused) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return mysql_kind(refused.number(), error.code().as_deref().unwrap_or_default(), refused.message());
    }
    match error.message().starts_with(SQLITE_NO_TABLE) {
        true => StoreErrorKind::Misconfigured,
        false => sqlite_kind(error.code().as_deref().unwrap_or_default()),
    }
}

/// MySQL and MariaDB: the numbers of their error reference, then the class of the SQLSTATE. Most that passes by itself, and
/// most of what proxies say, comes as HY000, which says nothing.
#[cfg(feature = "mysql")]
fn mysql_kind(number: u16, state: &str, text: &str) -> StoreErrorKind {
    match (number, state.get(..2).unwrap_or_default()) {
        // Deadlock; record changed since the snapshot; lock wait; NOWAIT; query killed; statement timeouts; GET_LOCK
        // deadlock; metadata lock deadlock; a statement or a table that has just changed; no room for locks or transactions;
        // rolled back by Group Replication's certification, or as a branch of XA: too slow, a deadlock.
        (
            1213 | 1020 | 1205 | 3572 | 1317 | 1969 | 3024 | 3058 | 1479 | 1615 | 1412 | 1206 | 1637 | 3101
            | 1613 | 1614,
            _,
        ) => StoreErrorKind::Transient,
        // The same certification, said by the storage engine: deadlock. Any other error during a commit may be anything.
        (1180, _) if first_number(text) == Some(149) => StoreErrorKind::Transient,
        // Duplicate key, and duplicate key name from a schema that is being made twice.
        (1062 | 1586, _) => StoreErrorKind::Conflict,
        // Limits of connections and of statements in their states of syntax errors; packets that are cut; a table that is
        // read only.
        (1203 | 1226 | 1461 | 1158..=1161 | 1036, _) => StoreErrorKind::Unavailable,
        // Unknown variable; statement binlog; a table that Group Replication does not take; collations.
        (1193 | 1665 | 3098 | 1267, _) => StoreErrorKind::Unsupported,
        // Too large a packet, result, row, or number of parameters; wrong characters; truncated; no default; a CHECK.
        (1153 | 1301 | 1118 | 1390 | 1300 | 1366 | 3988 | 1265 | 1364 | 3819, _) => StoreErrorKind::Corrupt,
        // Values out of range, too long, or wrong; NULL where there must be a value; foreign keys.
        (_, "22" | "23") => StoreErrorKind::Corrupt,
        // Tables that were not made, or are away; rights; a host that is not let in; TLS; credentials; no database.
        (NO_TABLE | 1044 | 1049 | 1142 | 1143 | 1227 | 1370 | 1698 | 1130 | 3159, _) | (_, "28" | "3D") => {
            StoreErrorKind::Misconfigured
        }
        // Syntax and unknown names; features; READ ONLY transaction.
        (_, "42" | "0A" | "25" | "21") => StoreErrorKind::Unsupported,
        (_, "40") => StoreErrorKind::Transient,
        // Also 1644, a trigger's SIGNAL: its author knows what it means, and nobody else whether it passes. Transient would
        // have it repeated at once.
        _ => StoreErrorKind::Unavailable,
    }
}

/// The error of a storage engine that a server quotes, in whatever language.
#[cfg(feature = "mysql")]
fn first_number(text: &str) -> Option<u16> {
    text.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok()
}

/// SQLite; the low byte of an extended result code is its family.
fn sqlite_kind(code: &str) -> StoreErrorKind {
    let code: u32 = code.parse().unwrap_or_default();
    match (code, code & 0xff) {
        // UNIQUE, PRIMARY KEY and ROWID.
        (2067 | 1555 | 2579, _) => StoreErrorKind::Conflict,
        // BUSY, LOCKED, INTERRUPT, SCHEMA (which somebody has just changed).
        (_, 5 | 6 | 9 | 17) => StoreErrorKind::Transient,
        // PERM, AUTH.
        (_, 3 | 23) => StoreErrorKind::Misconfigured,
        // ERROR (such as an unknown table), RANGE; a file that is damaged, or none of SQLite's: that is no message's fault.
        (_, 1 | 25 | 11 | 24 | 26) => StoreErrorKind::Unsupported,
        // TOOBIG, CONSTRAINT (a trigger's RAISE among them, which is a rule about a row), MISMATCH.
        (_, 18..=20) => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "mysql")]
    fn all_are(kind: StoreErrorKind, state: &str, numbers: &[u16]) {
        for number in numbers {
            assert_eq!(mysql_kind(*number, state, "told to"), kind, "{number} {state}");
        }
    }

    #[test]
    #[cfg(feature = "mysql")]
    fn mysql_numbers_have_their_kinds() {
        use StoreErrorKind::{Conflict, Corrupt, Misconfigured, Transient, Unavailable, Unsupported};
        all_are(Transient, "40001", &[1213]);
        all_are(Transient, "HY000", &[1020, 1205, 3572, 1969, 1615, 1412, 1206, 1637, 3101]);
        all_are(Transient, "70100", &[1317]);
        all_are(Transient, "XA106", &[1613]);
        all_are(Transient, "XA102", &[1614]);
        all_are(Unavailable, "HY000", &[1290, 1836, 1047, 3032, 4031, 3100, 1021, 1030, 1114, 1197, 1129]);
        all_are(Unavailable, "08S01", &[1160, 1053]);
        all_are(Unavailable, "08004", &[1040]);
        all_are(Unavailable, "42000", &[1226, 1203, 1461]);
        all_are(Conflict, "23000", &[1062]);
        all_are(Misconfigured, "42000", &[1044, 1049, 1142]);
        all_are(Misconfigured, "28000", &[1045, 1698]);
        all_are(Misconfigured, "3D000", &[1046]);
        all_are(Unsupported, "42000", &[1064, 1305]);
        all_are(Misconfigured, "42S02", &[1146]);
        all_are(Unsupported, "25006", &[1792]);
        all_are(Corrupt, "22001", &[1406]);
        all_are(Corrupt, "22003", &[1264]);
        all_are(Corrupt, "23000", &[1048, 1452]);
        all_are(Corrupt, "HY000", &[1366]);
        all_are(Corrupt, "08S01", &[1153]);
    }

    #[test]
    #[cfg(feature = "mysql")]
    fn what_is_unknown_may_pass_and_is_never_corrupt() {
        for number in [1105, 9001, 2013, 1644, 3950, u16::MAX] {
            for state in ["HY000", "45000", "", "XX", "\u{e9}"] {
                assert_eq!(mysql_kind(number, state, ""), StoreErrorKind::Unavailable, "{number} {state}");
            }
        }
        for code in ["", "7", "15", "999"] {
            assert_eq!(sqlite_kind(code), StoreErrorKind::Unavailable, "{code}");
        }
    }

    #[test]
    #[cfg(feature = "mysql")]
    fn an_error_during_a_commit_is_a_deadlock_if_the_storage_engine_says_so() {
        let kind = |text| mysql_kind(1180, "HY000", text);
        let deadlock = "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT";
        assert_eq!(kind(deadlock), StoreErrorKind::Transient);
        assert_eq!(
            kind("Got error 5 - 'Transaction size exceed set threshold' during COMMIT"),
            StoreErrorKind::Unavailable
        );
        assert_eq!(kind("no number at all"), StoreErrorKind::Unavailable);
    }

    #[test]
    fn sqlite_codes_have_their_kinds() {
        assert_eq!(sqlite_kind("5"), StoreErrorKind::Transient);
        assert_eq!(sqlite_kind("517"), StoreErrorKind::Transient);
        assert_eq!(sqlite_kind("17"), StoreErrorKind::Transient);
        assert_eq!(sqlite_kind("2067"), StoreErrorKind::Conflict);
        assert_eq!(sqlite_kind("13"), StoreErrorKind::Unavailable);
        assert_eq!(sqlite_kind("18"), StoreErrorKind::Corrupt);
        assert_eq!(sqlite_kind("1299"), StoreErrorKind::Corrupt);
        assert_eq!(sqlite_kind("11"), StoreErrorKind::Unsupported);
    }
}
