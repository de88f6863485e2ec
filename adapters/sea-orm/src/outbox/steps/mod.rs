//! The ports of steps, sagas, timers and locks.

mod ledger;
mod locks;
mod runs;
mod sagas;
