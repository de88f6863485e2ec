//! The step ledger, and reports on sagas.

pub(crate) mod ledger;
pub(crate) mod runs;
pub(crate) mod sagas;
