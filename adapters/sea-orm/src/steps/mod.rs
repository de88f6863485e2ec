//! The step ledger, and reports on runs, sagas and timers.

pub(crate) mod examine;
pub(crate) mod ledger;
pub(crate) mod runs;
pub(crate) mod sagas;
pub(crate) mod sweep;
pub(crate) mod timers;
