//! The start-up self-check.

mod checks;
mod claim_plan;
mod connections;
pub(crate) mod examination;
pub(crate) mod finding;
mod ids;
mod queues;
mod resharding;
mod rights;
#[cfg(feature = "mysql")]
mod servers;
mod set_back;
mod settings;
mod strategies;
mod tables;
mod topology;
