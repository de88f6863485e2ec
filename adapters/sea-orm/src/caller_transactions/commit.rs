use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr};

use crate::{
    caller_transactions::{
        ended::by_another_node,
        savepoint::{NOT_PROVEN, SQLITE_ERROR},
    },
    database::{
        Database,
        classify::{classify_commit, is_gone, refusal},
        deadline::in_time,
        dialect::Dialect,
        servers::Peers,
    },
};

const COMMIT: &str = "commit";

pub(crate) async fn commit_proven(db: &Database, tx: DatabaseTransaction) -> Result<(), StoreError> {
    let commit = async {
        match db.dialect {
            // The handle is dropped when its transaction has ended, and rolls back nothing.
            Dialect::MySql => Last::of_callers(db).send(&tx).await,
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
pub(crate) enum Last {
    /// Both in one packet, which saves a round trip.
    Together(&'static str),
    /// The proof; the `COMMIT` follows by itself.
    Apart(&'static str),
}

impl Last {
    pub(crate) const COMMIT: &'static str = "COMMIT";

    /// For a transaction of the outbox's own, that has seen plain statements only.
    #[cfg(feature = "mysql")]
    pub(crate) fn own(db: &Database) -> Self {
        let sql = &db.sql.savepoint;
        match db.health.servers.peers() {
            Peers::Apart => Self::Together(sql.commit.text()),
            Peers::Galera => Self::Apart(sql.commit_galera.text()),
            Peers::Group => Self::Together(sql.commit_group.text()),
        }
    }

    /// For any other that the outbox has begun.
    ///
    /// Another node's commit may end a transaction of Galera between two statements of a packet. No statement is refused for it, and a
    /// `COMMIT` of nothing is answered as a success; one that comes by itself is refused. A group refuses each.
    pub(crate) fn of_callers(db: &Database) -> Self {
        let sql = &db.sql.savepoint;
        match db.health.servers.peers() {
            Peers::Apart => Self::Together(sql.commit_proof.text()),
            Peers::Galera => Self::Apart(sql.commit_proof_galera.text()),
            Peers::Group => Self::Together(sql.commit_group.text()),
        }
    }

    pub(crate) async fn send(&self, on: &impl ConnectionTrait) -> Result<(), DbErr> {
        match self {
            Self::Together(packet) => on.execute_unprepared(packet).await.map(drop),
            Self::Apart(proof) => {
                on.execute_unprepared(proof).await?;
                on.execute_unprepared(Self::COMMIT).await.map(drop)
            }
        }
    }
}

pub(crate) fn on_server(operation: &'static str, error: DbErr) -> StoreError {
    match refusal(&error) {
        Some(NOT_PROVEN) => gone(operation),
        _ if is_gone(&error) => gone(operation),
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
