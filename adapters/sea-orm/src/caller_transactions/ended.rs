use claimstream_ports::{StoreError, StoreErrorKind};

use crate::database::{Database, dialect::Dialect, servers::Peers, topology::read};

/// Where nodes certify each other's commits, a transaction that is not there any more may be repeated: another node's commit has
/// ended it.
///
/// A node says so to the statement that it meets. It has nothing to say if the conflict comes between two statements of one packet,
/// as those of a proof are; then the proof finds that the transaction is gone. Elsewhere that is no conflict: the caller
/// went on after a deadlock, or sent a statement that commits by itself.
pub(crate) async fn by_another_node(db: &Database, error: StoreError) -> StoreError {
    if error.kind() != StoreErrorKind::Unsupported || !certifies(db).await {
        return error;
    }
    let why = format!("another node's commit was in the way, or {}", error.get_ref());
    StoreError::new(StoreErrorKind::Transient, error.operation(), why)
}

/// The connections have said so when they were made. A server that has joined others since then is asked.
async fn certifies(db: &Database) -> bool {
    if db.health.servers.peers() != Peers::Apart {
        return true;
    }
    match db.dialect {
        Dialect::MySql => read::place(db.relay(), db.sql).await.is_ok_and(|place| place.certifies()),
        Dialect::Sqlite => false,
    }
}
