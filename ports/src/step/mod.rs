//! Ports of the step ledger, which remembers in the transaction of an effect that it has happened.

mod list_runs;
mod list_timers;
mod purge_steps;
mod step_ledger;

pub use list_runs::ListRuns;
pub use list_timers::ListTimers;
pub use purge_steps::PurgeSteps;
pub use step_ledger::{LockWait, Locked, StepLedger};

/// The mocks of these ports; the module `mock` of the root exports them.
#[cfg(feature = "mock")]
pub(crate) mod mock {
    pub use super::{list_runs::MockListRuns, list_timers::MockListTimers, purge_steps::MockPurgeSteps};
}
