//! The step ledger, and what is told of sagas.

pub(crate) mod ledger;
pub(crate) mod sagas;
