use async_trait::async_trait;
use claimstream_domain::{
    Begun, Enqueued, NewMessage, NewStep, Step, StepChange, StepKey, notification::NotificationRequest,
};
use claimstream_ports::{Enqueue, LockWait, Locked, StepLedger, StoreError, SubmitRequests, Transactions};

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
    async fn begin_step(&self, step: &NewStep) -> Result<Begun, StoreError>;

    /// Changes a step inside it.
    async fn advance_step(
        &self,
        key: &StepKey,
        from: &Step,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError>;

    /// Reads a step inside it.
    async fn find_step(&self, key: &StepKey) -> Result<Option<Step>, StoreError>;

    /// Locks a step inside it.
    async fn lock_step(&self, key: &StepKey, wait: LockWait) -> Result<Locked, StoreError>;
}

/// Where transactions are begun; `T` is what can be done inside them, such as `dyn Transaction`.
#[async_trait]
pub trait Begin<T: ?Sized>: Send + Sync {
    /// Begins one.
    async fn begin(&self) -> Result<Box<T>, StoreError>;
}

/// An open transaction of `S`.
struct Opened<S: Transactions> {
    store: S,
    tx: S::Tx,
}

impl<S: Transactions + Clone + 'static> Opened<S> {
    async fn begin(store: &S) -> Result<Box<Self>, StoreError> {
        Ok(Box::new(Self { store: store.clone(), tx: store.begin_tx().await? }))
    }
}

#[async_trait]
impl<S: Transactions + Clone + 'static + Enqueue<S::Tx>> Transaction for Opened<S> {
    async fn enqueue(&self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError> {
        self.store.enqueue(&self.tx, messages).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.store.commit_tx(self.tx).await
    }

    async fn roll_back(self: Box<Self>) -> Result<(), StoreError> {
        self.store.roll_back_tx(self.tx).await
    }
}

#[async_trait]
impl<S: Transactions + Clone + 'static + Enqueue<S::Tx> + SubmitRequests<S::Tx>> SubmitTransaction
    for Opened<S>
{
    async fn submit(&self, requests: &[NotificationRequest]) -> Result<Vec<Enqueued>, StoreError> {
        self.store.submit(&self.tx, requests).await
    }
}

#[async_trait]
impl<S: Transactions + Clone + 'static + Enqueue<S::Tx> + StepLedger<S::Tx>> StepTransaction for Opened<S> {
    async fn begin_step(&self, step: &NewStep) -> Result<Begun, StoreError> {
        self.store.begin(&self.tx, step).await
    }

    async fn advance_step(
        &self,
        key: &StepKey,
        from: &Step,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError> {
        self.store.advance(&self.tx, key, from, change).await
    }

    async fn find_step(&self, key: &StepKey) -> Result<Option<Step>, StoreError> {
        self.store.find(&self.tx, key).await
    }

    async fn lock_step(&self, key: &StepKey, wait: LockWait) -> Result<Locked, StoreError> {
        self.store.lock(&self.tx, key, wait).await
    }
}

#[async_trait]
impl<S: Transactions + Clone + 'static + Enqueue<S::Tx>> Begin<dyn Transaction> for S {
    async fn begin(&self) -> Result<Box<dyn Transaction>, StoreError> {
        Ok(Opened::begin(self).await?)
    }
}

#[async_trait]
impl<S: Transactions + Clone + 'static + Enqueue<S::Tx> + SubmitRequests<S::Tx>> Begin<dyn SubmitTransaction>
    for S
{
    async fn begin(&self) -> Result<Box<dyn SubmitTransaction>, StoreError> {
        Ok(Opened::begin(self).await?)
    }
}

#[async_trait]
impl<S: Transactions + Clone + 'static + Enqueue<S::Tx> + StepLedger<S::Tx>> Begin<dyn StepTransaction>
    for S
{
    async fn begin(&self) -> Result<Box<dyn StepTransaction>, StoreError> {
        Ok(Opened::begin(self).await?)
    }
}
