use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr};

use crate::{
    caller_transactions::{
        ended::by_another_node,
        savepoint::{NO_SAVEPOINT, NOT_PROVEN, SQLITE_ERROR},
    },
    database::{
        Database,
        classify::{classify_commit, refusal},
        deadline::in_time,
        dialect::Dialect,
    },
};

const COMMIT: &str = "commit";

pub(crate) async fn commit_proven(db: &Database, tx: DatabaseTransaction) -> Result<(), StoreError> {
    let commit = async {
        match db.dialect {
            // The handle is dropped when its transaction has ended, and rolls back nothing.
            Dialect::MySql => tx.execute_unprepared(db.sql.savepoint.commit_proof.text()).await.map(drop),
            // It refuses to commit by itself where there is no transaction.
            Dialect::Sqlite => tx.commit().await,
        }
    };
    let of_kind = match db.dialect {
        Dialect::MySql => on_server,
        Dialect::Sqlite => in_file,
    };
    let Err(error) = in_time(COMMIT, commit, of_kind).await else { return Ok(()) };
    db.note_trouble(&error);
    Err(by_another_node(db, error).await)
}

pub(crate) fn on_server(operation: &'static str, error: DbErr) -> StoreError {
    match refusal(&error) {
        Some(NO_SAVEPOINT | NOT_PROVEN) => gone(operation),
        _ => classify_commit(operation, error),
    }
}

fn in_file(operation: &'static str, error: DbErr) -> StoreError {
    match refusal(&error) {
        Some(SQLITE_ERROR) => gone(operation),
        _ => classify_commit(operation, error),
    }
}

pub(crate) fn gone(operation: &'static str) -> StoreError {
    let why = "the transaction has ended before, as by a deadlock or a statement that commits by itself; begin a new one and \
               repeat everything in it";
    StoreError::new(StoreErrorKind::Unsupported, operation, why)
}
