//! Writes settlements, many in one call.

mod answers;
mod claim_handle;
mod ending;
mod settled_counts;
mod settlement_batch;
mod settlement_health;
mod settlement_writer;
mod settler;
mod settling;
mod uncounted;
mod write_group;

pub(crate) use claim_handle::ClaimHandle;
pub(crate) use ending::{Ending, Together, end_together};
pub(crate) use settlement_health::SettlementHealth;
pub(crate) use settler::Settler;
