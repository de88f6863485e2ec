use std::{error::Error, time::Duration};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr, sqlx};

#[cfg(feature = "mysql")]
use super::mysql_errors;
use super::sqlite_errors;

/// The one place that says what kind of trouble a database error is.
pub(crate) fn classify(operation: &'static str, error: DbErr) -> StoreError {
    let (kind, advice) = (kind_of(&error), advice(operation, &error));
    let error = StoreError::new(kind, operation, error);
    match advice {
        Some(advice) => error.with_advice(advice),
        None => error,
    }
}

/// An error of a caller's own statement as the ports would name it, so that the caller can distinguish a transaction that
/// met a deadlock in it from one that a repeat does not help. `operation` is a verb such as `reserve`.
pub fn store_error(operation: &'static str, error: DbErr) -> StoreError {
    classify(operation, error)
}

/// An error for stored data, or data to be stored, that is not as it must be.
pub(crate) fn corrupt(operation: &'static str, why: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, operation, why)
}

/// Whether a commit that failed like this may have taken effect all the same.
pub(crate) fn may_have_committed(error: &StoreError) -> bool {
    error.kind() == StoreErrorKind::Unavailable
}

/// An error at COMMIT: unless it is one that is known to undo the transaction, the outcome is unknown.
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
        #[cfg(feature = "mysql")]
        Some(sqlx::Error::Database(refused)) => {
            let refused = refused.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>();
            refused.is_some_and(|refused| mysql_errors::is_outage(refused.number()))
        }
        Some(sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_)) => true,
        Some(_) => false,
        None => inner.is::<Unanswered>(),
    }
}

/// A statement that was given up because its answer did not come.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    /// It had so long.
    #[error("no answer within {0:?}")]
    TookTooLong(Duration),
    /// Another server takes writes by now.
    #[error("no answer from the server that took writes before, another one does now")]
    Moved,
}

/// Whether a statement that does not wait met a lock of another transaction: MySQL says 3572, MariaDB 1205, SQLite BUSY.
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

/// Whether a statement met a row lock of another transaction: MySQL says 3572 and both say 1205, and SQLite has no such locks.
pub(crate) fn is_row_locked_by_another(error: &StoreError) -> bool {
    let refusal = error.get_ref().downcast_ref::<DbErr>().and_then(refusal);
    matches!(refusal, Some(3572 | 1205))
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

/// Whether a statement was refused because its savepoint, and with it the transaction, is gone.
pub(crate) fn is_gone(error: &DbErr) -> bool {
    #[cfg(feature = "mysql")]
    if let Some(sqlx::Error::Database(refused)) = sqlx_error(error)
        && let Some(refused) = refused.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>()
    {
        return mysql_errors::lacks_savepoint(refused.number(), refused.message());
    }
    let _ = error;
    false
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
        return (refused.number() == mysql_errors::NO_TABLE).then(|| refused.message());
    }
    refused.message().starts_with(sqlite_errors::NO_TABLE).then(|| refused.message())
}

/// What helps against a right or a table that is missing.
fn advice(operation: &'static str, error: &DbErr) -> Option<&'static str> {
    let is_ours = |text: &str| text.contains("claimstream_") && !text.contains("._claimstream_");
    if missing_table(error).is_some_and(is_ours) {
        return Some(
            "`claimstream schema plan` says whether `claimstream schema apply` makes it, with --for and the name of its capability, or a backup \
             has it",
        );
    }
    let number = refusal(error)?;
    if !matches!(number, 1044 | 1142 | 1143 | 1227) {
        return None;
    }
    Some(match (operation, number) {
        ("schema", _) => {
            "grant the user of the database URL the rights to make tables that docs/rights.md lists, or have another user \
             run `claimstream schema apply` and open with create_schema = false"
        }
        // The server names a right that holds for all databases, such as PROCESS.
        (_, 1227) => {
            "grant the user of the database URL the right that the server names; docs/rights.md says what it is for"
        }
        (_, 1044) => {
            "grant the user of the database URL the rights on this database that docs/rights.md lists"
        }
        _ => {
            "grant the user of the database URL the rights on this database's tables that docs/rights.md lists"
        }
    })
}

/// Errors that are corrupt, a conflict or unsupported are listed; an unknown error may pass.
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

fn refused_kind(error: &dyn sqlx::error::DatabaseError) -> StoreErrorKind {
    #[cfg(feature = "mysql")]
    if let Some(refused) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return mysql_errors::kind(
            refused.number(),
            error.code().as_deref().unwrap_or_default(),
            refused.message(),
        );
    }
    match error.message().starts_with(sqlite_errors::NO_TABLE) {
        true => StoreErrorKind::Misconfigured,
        false => sqlite_errors::kind(error.code().as_deref().unwrap_or_default()),
    }
}
