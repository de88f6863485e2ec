//! Writes settlements, many in one call.

mod claim_handle;
mod ending;
mod pending;
mod settled_counts;
mod settlement_batch;
mod settlement_health;
mod settlement_writer;
mod settler;
mod uncounted;
mod waiting;

pub(crate) use claim_handle::ClaimHandle;
pub(crate) use ending::{Ending, Together, end_together};
pub(crate) use settlement_health::SettlementHealth;
pub(crate) use settler::Settler;
