use std::{future::Future, pin::Pin, sync::Arc};

use async_trait::async_trait;
use claimstream_ports::{StoreError, StoreErrorKind, Transactions};
use sea_orm::DatabaseTransaction;
use tracing::Instrument;

use crate::{
    caller_transactions::commit::commit_proven,
    database::{classify::classify, deadline::in_time},
    outbox::handle::SeaOrmOutbox,
};
#[cfg(feature = "mysql")]
use crate::{
    caller_transactions::own::{On, OwnTransaction, Watched},
    database::dialect::Dialect,
};

const BEGIN: &str = "begin";
const COMMIT: &str = "commit";

impl SeaOrmOutbox {
    /// Begins a transaction to write business data and messages in.
    ///
    /// It runs as a task of its own, so that a cancelled caller leaves no open transaction behind; on SQLite it takes the
    /// write lock at once, because a transaction that reads first and writes later may be refused there.
    ///
    /// Only for tokio: the driver commits, rolls back and drops a transaction by means of the current tokio runtime, and
    /// panics without one, so without one this is refused as `Unsupported`. On other executors use
    /// [`transaction`](Self::transaction), or [`enqueue_now`](Self::enqueue_now).
    ///
    /// If others have all connections in use for [`acquire_timeout`](crate::OpenOptions::acquire_timeout), the error is `Transient`, and
    /// a caller that can wait may ask again.
    pub async fn begin(&self) -> Result<DatabaseTransaction, StoreError> {
        if tokio::runtime::Handle::try_current().is_err() {
            let why = "a transaction that is given away needs a tokio runtime around it, and there is none; do the work in \
                       SeaOrmOutbox::transaction, which runs on the outbox's own";
            return Err(StoreError::new(StoreErrorKind::Unsupported, "begin", why));
        }
        self.detached("begin", move |state| async move { state.db.begin_for_caller("begin").await }).await
    }

    /// Begins a transaction of the outbox's own type, which costs the database less than one of the driver.
    ///
    /// The type runs statements of sea-orm, but nests nothing and streams nothing. It is for tokio only, like
    /// [`begin`](Self::begin), and waits for a connection as that does.
    #[cfg(feature = "mysql")]
    pub async fn begin_own(&self) -> Result<OwnTransaction, StoreError> {
        let db = Arc::clone(&self.state.db);
        if db.dialect != Dialect::MySql || db.callers.are_given {
            return Ok(OwnTransaction { db, on: On::Driver(self.begin().await?) });
        }
        let beginning = async move {
            match Watched::begin(Arc::clone(&db), BEGIN).await {
                Ok(watched) => Ok(OwnTransaction { on: On::Watched(watched), db: Arc::clone(&db) }),
                Err(error) => Err(db.none_to_spare(BEGIN, error).await),
            }
        };
        self.state.db.detached(BEGIN, beginning).await
    }

    /// Commits a transaction that [`begin`](Self::begin) began, if it is still there.
    ///
    /// A deadlock, or a statement that commits by itself, ends a transaction on the server alone, though the handle lives on.
    /// The driver's own `tx.commit()` then answers Ok and nothing is there; this is refused as `Unsupported`. The
    /// proof travels in the packet of the `COMMIT`, so it costs no round trip; on Galera the `COMMIT` follows by itself. It sees what
    /// the proof of [`enqueue_on`](Self::enqueue_on) sees, and has the same limits. In a group it also sees that another member's
    /// commit has undone the transaction, and is `Transient` then; there a transaction that something else has begun is refused.
    ///
    /// Hand in the transaction itself: a nested one, which the driver makes of a savepoint, would commit all of it. For
    /// handles of other pools there is no such call; end those that enqueue with the enqueue, or look at every error of a
    /// statement before the driver commits.
    pub async fn commit(&self, tx: DatabaseTransaction) -> Result<(), StoreError> {
        self.detached(COMMIT, move |state| async move { commit_proven(&state.db, tx).await }).await
    }
}

/// Only for tokio, as [`SeaOrmOutbox::begin`] says. A transaction that has ended before its commit is refused, as
/// [`SeaOrmOutbox::commit`] says.
#[async_trait]
impl Transactions for SeaOrmOutbox {
    type Tx = DatabaseTransaction;

    async fn begin_tx(&self) -> Result<DatabaseTransaction, StoreError> {
        self.begin().await
    }

    async fn commit_tx(&self, tx: DatabaseTransaction) -> Result<(), StoreError> {
        self.commit(tx).await
    }

    async fn roll_back_tx(&self, tx: DatabaseTransaction) -> Result<(), StoreError> {
        self.state
            .db
            .detached("roll back", async move { in_time("roll back", tx.rollback(), classify).await })
            .await
    }
}

/// The work of a call of [`SeaOrmOutbox::transaction`].
pub type TransactionWork<'tx, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'tx>>;

impl SeaOrmOutbox {
    /// Does work in a transaction and commits it, all on the outbox's own runtime, so that any executor may wait for it.
    ///
    /// An error of the work rolls back and is handed on. It runs to its end even if the caller is cancelled. A panic of the
    /// work rolls back and is `Unavailable`.
    pub async fn transaction<T, E>(
        &self,
        work: impl for<'tx> FnOnce(&'tx DatabaseTransaction) -> TransactionWork<'tx, T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let outbox = self.clone();
        let whole = async move {
            let tx = outbox.begin_tx().await?;
            match work(&tx).await {
                Ok(done) => {
                    outbox.commit_tx(tx).await?;
                    Ok(done)
                }
                Err(error) => {
                    if let Err(second) = outbox.roll_back_tx(tx).await {
                        // A connection that cannot roll back is closed, and the server rolls back.
                        tracing::debug!(error = %second, "not rolled back");
                    }
                    Err(error)
                }
            }
        };
        match self.state.db.runtime.spawn(whole.in_current_span()).await {
            Ok(done) => done,
            Err(lost) => Err(StoreError::new(StoreErrorKind::Unavailable, "transaction", lost).into()),
        }
    }
}
