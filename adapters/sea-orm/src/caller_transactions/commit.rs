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
        statements::Statements,
    },
};

const COMMIT: &str = "commit";

pub(crate) async fn commit_proven(db: &Database, tx: DatabaseTransaction) -> Result<(), StoreError> {
    let commit = async {
        match db.dialect {
            // The handle is dropped when its transaction has ended, and rolls back nothing.
            Dialect::MySql => Last::of_callers(db.sql).send(db, &tx).await,
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

/// What ends a transaction on a server: the proof that it is still there, and its `COMMIT`.
pub(crate) struct Last {
    packet: &'static str,
    proof: &'static str,
}

impl Last {
    pub(crate) const COMMIT: &'static str = "COMMIT";

    /// For a transaction of the outbox's own, that has seen plain statements only.
    #[cfg(feature = "mysql")]
    pub(crate) fn own(sql: &'static Statements) -> Self {
        Self { packet: sql.savepoint.commit.text(), proof: sql.savepoint.commit_galera.text() }
    }

    /// For any other.
    pub(crate) fn of_callers(sql: &'static Statements) -> Self {
        Self { packet: sql.savepoint.commit_proof.text(), proof: sql.savepoint.commit_proof_galera.text() }
    }

    /// Sends both in one packet, which saves a round trip; to a node of Galera one after the other.
    ///
    /// There another node's commit may end the transaction between two statements of a packet. No statement is refused for it, and a
    /// `COMMIT` of nothing is answered as a success. A statement that comes by itself is refused.
    pub(crate) async fn send(&self, db: &Database, on: &impl ConnectionTrait) -> Result<(), DbErr> {
        if !db.health.servers.are_of_galera() {
            return on.execute_unprepared(self.packet).await.map(drop);
        }
        on.execute_unprepared(self.proof).await?;
        on.execute_unprepared(Self::COMMIT).await.map(drop)
    }
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
