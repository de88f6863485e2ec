//! Ports of the step ledger, which remembers in the transaction of an effect that it has happened.

mod purge_steps;
mod step_ledger;

pub use purge_steps::PurgeSteps;
pub use step_ledger::{LockWait, Locked, StepLedger};
