use async_trait::async_trait;

use crate::StoreError;

/// Local transactions of a store, in which business data, messages and steps are written together.
///
/// Implementors owe:
/// * a write in a transaction exists if and only if the commit took effect; one that is dropped is rolled back;
/// * on a database that can write at one place at a time, the right to write is taken at the beginning, so that a
///   transaction that reads first is not refused when it writes;
/// * after a commit that ended with `Transient` nothing was changed; after any other error of a commit it is unknown.
#[async_trait]
pub trait Transactions: Send + Sync {
    /// An open transaction.
    type Tx: Send + Sync + 'static;

    /// Begins a transaction.
    async fn begin_tx(&self) -> Result<Self::Tx, StoreError>;

    /// Commits `tx`: makes its writes durable.
    async fn commit_tx(&self, tx: Self::Tx) -> Result<(), StoreError>;

    /// Rolls `tx` back: undoes its writes.
    async fn roll_back_tx(&self, tx: Self::Tx) -> Result<(), StoreError>;
}
