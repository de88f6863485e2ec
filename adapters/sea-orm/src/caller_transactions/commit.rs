use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr};

use crate::{
    caller_transactions::savepoint::{NO_SAVEPOINT, NOT_PROVEN, SQLITE_ERROR},
    database::{
        classify::{classify_commit, refusal},
        deadline::in_time,
        dialect::Dialect,
    },
    outbox::handle::SeaOrmOutbox,
    store::Store,
};

const COMMIT: &str = "commit";

impl SeaOrmOutbox {
    /// Commits a transaction that [`begin`](Self::begin) began, if it is still there.
    ///
    /// A deadlock, or a statement that commits by itself, ends a transaction on the server alone, though the handle lives on.
    /// The driver's own `tx.commit()` then answers Ok and nothing is there; this is refused as `Unsupported`. The
    /// proof travels in the packet of the `COMMIT`, so it costs no round trip. It sees what the proof of
    /// [`enqueue_on`](Self::enqueue_on) sees, and has the same limits.
    ///
    /// Hand in the transaction itself: a nested one, which the driver makes of a savepoint, would commit all of it. For
    /// handles of other pools there is no such call; end those that enqueue with the enqueue, or look at every error of a
    /// statement before the driver commits.
    pub async fn commit(&self, tx: DatabaseTransaction) -> Result<(), StoreError> {
        let store = self.store.clone();
        let commit = async move {
            let committed = store.commit_proven(tx).await;
            committed.inspect_err(|error| store.note_trouble(error))
        };
        self.store.detached(COMMIT, commit).await
    }
}

impl Store {
    async fn commit_proven(&self, tx: DatabaseTransaction) -> Result<(), StoreError> {
        let commit = async {
            match self.dialect {
                // The handle is dropped when its transaction has ended, and rolls back nothing.
                Dialect::MySql => {
                    tx.execute_unprepared(self.sql.savepoint.commit_proof.text()).await.map(drop)
                }
                // It refuses to commit by itself where there is no transaction.
                Dialect::Sqlite => tx.commit().await,
            }
        };
        let of_kind = match self.dialect {
            Dialect::MySql => on_server,
            Dialect::Sqlite => in_file,
        };
        in_time(COMMIT, commit, of_kind).await
    }
}

fn on_server(operation: &'static str, error: DbErr) -> StoreError {
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

fn gone(operation: &'static str) -> StoreError {
    let why = "the transaction has ended before, as by a deadlock or a statement that commits by itself; begin a new one and \
               repeat everything in it";
    StoreError::new(StoreErrorKind::Unsupported, operation, why)
}
