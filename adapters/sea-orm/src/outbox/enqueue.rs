use async_trait::async_trait;
use claimstream_domain::{Enqueued, NewMessage};
use claimstream_ports::{Enqueue, StoreError};
use sea_orm::{ConnectionTrait, DatabaseTransaction};

#[cfg(feature = "mysql")]
use crate::caller_transactions::own::{On, OwnTransaction};
use crate::{enqueue::statements::EnqueueStatements, outbox::handle::SeaOrmOutbox};

const ENQUEUE: &str = "enqueue";

/// A call that fails leaves nothing of itself in the transaction. A call that is dropped half way may leave a body without
/// its queue entry: roll back then, as after any statement that was cut short.
///
/// A transaction that a deadlock has ended, or one on another outbox's database, is refused as by
/// [`SeaOrmOutbox::enqueue_on`].
#[async_trait]
impl Enqueue<DatabaseTransaction> for SeaOrmOutbox {
    async fn enqueue(
        &self,
        tx: &DatabaseTransaction,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.enqueue_on(tx, messages).await
    }
}

/// In a transaction of the outbox's own this takes two short statements in addition to the inserts, and refuses what
/// [`SeaOrmOutbox::enqueue_on`] refuses.
#[cfg(feature = "mysql")]
#[async_trait]
impl Enqueue<OwnTransaction> for SeaOrmOutbox {
    async fn enqueue(
        &self,
        tx: &OwnTransaction,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        match &tx.on {
            On::Driver(tx) => self.enqueue_on(tx, messages).await,
            On::Watched(_) if messages.is_empty() => Ok(Vec::new()),
            On::Watched(tx) => {
                self.state
                    .transactions
                    .within_own(tx, ENQUEUE, self.state.enqueueing.enqueue(tx, messages))
                    .await
            }
        }
    }
}

impl SeaOrmOutbox {
    /// Enqueues in a transaction of the caller's, on whatever runs it.
    ///
    /// Each call proves, in the packet that sets its savepoint, that the connection is in a transaction and leads to this
    /// outbox's own database; anything else is refused as `Unsupported`, and nothing is enqueued.
    ///
    /// A deadlock ends the transaction on the server, though the handle lives on. If the call itself meets it, the error
    /// says that the whole transaction was rolled back; if an earlier statement did, the call is refused.
    /// Statements on the handle in between have committed themselves, and no call can take them back.
    ///
    /// The proof shows that *a* transaction is open. It does not recognise one that the caller has begun by hand (`BEGIN` as a
    /// statement) after the first has ended, nor on MariaDB 10.5 the one that the server begins with the next statement on a
    /// table after a deadlock. With autocommit off the server begins transactions by itself, so such a
    /// connection is refused.
    pub async fn enqueue_on<C: ConnectionTrait>(
        &self,
        on: &C,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.state.transactions.check_backend(on, ENQUEUE)?;
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        self.state.transactions.within(on, ENQUEUE, self.state.enqueueing.enqueue(on, messages)).await
    }

    /// Enqueues in a transaction of the outbox's own, on a connection of the outbox's own, for callers that have no
    /// business data to write with it.
    ///
    /// It has committed when it answers, and several calls are several transactions. It runs to its end even if the caller
    /// is cancelled. There is no call that takes a [`sea_orm::DatabaseConnection`]: a pool is in no transaction.
    ///
    /// ```compile_fail,E0277
    /// # use claimstream_ports::Enqueue;
    /// # async fn example(outbox: claimstream_sea_orm::SeaOrmOutbox, db: sea_orm::DatabaseConnection) {
    /// let _ = Enqueue::enqueue(&outbox, &db, &[]).await;
    /// # }
    /// ```
    pub async fn enqueue_now(&self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError> {
        let messages = messages.to_vec();
        self.detached(ENQUEUE, move |state| async move { state.enqueueing.enqueue_now(&messages).await })
            .await
    }

    /// The statements that enqueue messages, for drivers of other kinds.
    pub fn enqueue_statements(&self, messages: &[NewMessage]) -> Result<EnqueueStatements, StoreError> {
        self.state.enqueueing.statements(messages)
    }
}
