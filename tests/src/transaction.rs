use async_trait::async_trait;
use claimstream_domain::{Enqueued, NewMessage, notification::NotificationRequest};
use claimstream_ports::{Enqueue, Step, StepKey, StepLedger, StoreError, SubmitRequests};

/// A caller's own transaction, with what a store does inside it; dropped, it is rolled back.
#[async_trait]
pub trait Transaction: Send + Sync {
    /// Enqueues inside it.
    async fn enqueue(&self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError>;

    /// Makes its writes durable.
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;

    /// Undoes its writes.
    async fn roll_back(self: Box<Self>) -> Result<(), StoreError>;
}

/// A transaction in which notification requests can be handed in.
#[async_trait]
pub trait SubmitTransaction: Transaction {
    /// Hands requests in inside it.
    async fn submit(&self, requests: &[NotificationRequest]) -> Result<Vec<Enqueued>, StoreError>;
}

/// A transaction in which steps can be taken.
#[async_trait]
pub trait StepTransaction: Transaction {
    /// Begins a step inside it.
    async fn begin_step(&self, key: &StepKey, state: u8) -> Result<Step, StoreError>;

    /// Moves a step on inside it.
    async fn advance_step(&self, key: &StepKey, step: &Step, state: u8) -> Result<bool, StoreError>;
}

/// Where transactions are begun; `T` is what can be done inside them, such as `dyn Transaction`.
#[async_trait]
pub trait Begin<T: ?Sized>: Send + Sync {
    /// Begins one.
    async fn begin(&self) -> Result<Box<T>, StoreError>;
}

/// A store's own transactions: all that a venue has to say about them.
#[async_trait]
pub trait Transactions: Clone + Send + Sync + 'static {
    /// The store's transaction.
    type Tx: Send + Sync + 'static;

    /// Begins one.
    async fn begin_tx(&self) -> Result<Self::Tx, StoreError>;

    /// Commits one.
    async fn commit_tx(tx: Self::Tx) -> Result<(), StoreError>;

    /// Rolls one back.
    async fn roll_back_tx(tx: Self::Tx) -> Result<(), StoreError>;
}

/// An open transaction of `S`.
struct Opened<S: Transactions> {
    store: S,
    tx: S::Tx,
}

impl<S: Transactions> Opened<S> {
    async fn begin(store: &S) -> Result<Box<Self>, StoreError> {
        Ok(Box::new(Self { store: store.clone(), tx: store.begin_tx().await? }))
    }
}

#[async_trait]
impl<S: Transactions + Enqueue<S::Tx>> Transaction for Opened<S> {
    async fn enqueue(&self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError> {
        self.store.enqueue(&self.tx, messages).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        S::commit_tx(self.tx).await
    }

    async fn roll_back(self: Box<Self>) -> Result<(), StoreError> {
        S::roll_back_tx(self.tx).await
    }
}

#[async_trait]
impl<S: Transactions + Enqueue<S::Tx> + SubmitRequests<S::Tx>> SubmitTransaction for Opened<S> {
    async fn submit(&self, requests: &[NotificationRequest]) -> Result<Vec<Enqueued>, StoreError> {
        self.store.submit(&self.tx, requests).await
    }
}

#[async_trait]
impl<S: Transactions + Enqueue<S::Tx> + StepLedger<S::Tx>> StepTransaction for Opened<S> {
    async fn begin_step(&self, key: &StepKey, state: u8) -> Result<Step, StoreError> {
        self.store.begin(&self.tx, key, state).await
    }

    async fn advance_step(&self, key: &StepKey, step: &Step, state: u8) -> Result<bool, StoreError> {
        self.store.advance(&self.tx, key, step, state).await
    }
}

#[async_trait]
impl<S: Transactions + Enqueue<S::Tx>> Begin<dyn Transaction> for S {
    async fn begin(&self) -> Result<Box<dyn Transaction>, StoreError> {
        Ok(Opened::begin(self).await?)
    }
}

#[async_trait]
impl<S: Transactions + Enqueue<S::Tx> + SubmitRequests<S::Tx>> Begin<dyn SubmitTransaction> for S {
    async fn begin(&self) -> Result<Box<dyn SubmitTransaction>, StoreError> {
        Ok(Opened::begin(self).await?)
    }
}

#[async_trait]
impl<S: Transactions + Enqueue<S::Tx> + StepLedger<S::Tx>> Begin<dyn StepTransaction> for S {
    async fn begin(&self) -> Result<Box<dyn StepTransaction>, StoreError> {
        Ok(Opened::begin(self).await?)
    }
}
