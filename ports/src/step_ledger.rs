use async_trait::async_trait;

use crate::StoreError;

/// Remembers, in the same local transaction as the effect, that a step was taken.
///
/// It is what an idempotent inbox, a TCC branch and a saga step stand on. Implementors owe: the insert decides, not a
/// read before it; of two transactions that begin one step, the second waits for the first and then sees its step; a
/// step's state changes only from the version that the caller names.
#[async_trait]
pub trait StepLedger<Tx: Sync + ?Sized>: Send + Sync {
    /// Begins a step in `state`, or answers the step that is there already.
    async fn begin(&self, tx: &Tx, key: &StepKey, state: u8) -> Result<Step, StoreError>;

    /// Moves a step from `step.state` to `state`; `false` if it is no longer at `step.version`.
    async fn advance(&self, tx: &Tx, key: &StepKey, step: &Step, state: u8) -> Result<bool, StoreError>;
}

/// What a step is told apart by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StepKey {
    /// Who takes steps: a consumer, a TCC resource, a saga.
    pub scope: String,
    /// Which run of it: a message, a transaction, a saga instance.
    pub run: String,
    /// Which step of the run.
    pub step: String,
}

/// A step as it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Whether this call began it.
    pub new: bool,
    /// Its state, a number whose meaning is the caller's.
    pub state: u8,
    /// Grows with every change.
    pub version: u64,
}
