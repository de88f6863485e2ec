use std::{future::Future, pin::Pin};

use async_trait::async_trait;
use claimstream_ports::{StoreError, StoreErrorKind, Transactions};
use sea_orm::DatabaseTransaction;
use tracing::Instrument;

use super::handle::SeaOrmOutbox;
use crate::database::{classify::classify, deadline::in_time};

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
        self.store
            .detached("roll back", async move { in_time("roll back", tx.rollback(), classify).await })
            .await
    }
}

/// What is done in [`SeaOrmOutbox::transaction`].
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
        match self.store.runtime.spawn(whole.in_current_span()).await {
            Ok(done) => done,
            Err(lost) => Err(StoreError::new(StoreErrorKind::Unavailable, "transaction", lost).into()),
        }
    }
}
