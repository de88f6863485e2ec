use async_trait::async_trait;
use claimstream_domain::step::{Begun, NewStep, Step, StepChange, StepKey};

use crate::StoreError;

/// Remembers, in the same local transaction as the effect, that a step was taken.
///
/// It is what the inbox, timer events, TCC branches and sagas stand on. Implementors owe:
/// * the insert decides whether a step is new, not a read before it; keys are compared byte by byte;
/// * of two transactions that begin one step, the second waits for the first and then sees its step, or begins it if the
///   first was rolled back;
/// * a step's state changes only from the state and version that the caller names;
/// * a transaction sees its own steps; what it has begun, found by beginning, or locked stays as it is until it ends, but
///   for its own changes.
///
/// Callers owe: one transaction takes its steps in one order, such as that of their keys; two that do it crosswise wait
/// for each other, and one of them ends with `Transient`. After an error the transaction is rolled back.
#[async_trait]
pub trait StepLedger<Tx: Sync + ?Sized>: Send + Sync {
    /// Begins a step, or answers the step that is there already.
    async fn begin(&self, tx: &Tx, step: &NewStep) -> Result<Begun, StoreError>;

    /// Changes a step that is still as `from` says, and answers it as it is then; `None` if it changed meanwhile or never
    /// was.
    async fn advance(
        &self,
        tx: &Tx,
        key: &StepKey,
        from: &Step,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError>;

    /// The step as the transaction sees it now, without a lock and without a wait.
    async fn find(&self, tx: &Tx, key: &StepKey) -> Result<Option<Step>, StoreError>;

    /// Keeps others from changing a step until the transaction ends.
    ///
    /// Implementors owe: under [`LockWait::NoWait`] an answer at once, with [`Locked::Busy`] whenever another transaction has it,
    /// and never `Absent` instead.
    async fn lock(&self, tx: &Tx, key: &StepKey, wait: LockWait) -> Result<Locked, StoreError>;
}

/// What to do about a step that another transaction has locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWait {
    /// Wait until the other transaction ends.
    Wait,
    /// Answer [`Locked::Busy`] at once.
    NoWait,
}

/// How locking a step ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Locked {
    /// It is locked by this transaction, and this is how it stands.
    Held(Step),
    /// There is no such step; nothing is locked.
    Absent,
    /// Another transaction has it. The transaction is best rolled back.
    Busy,
}
