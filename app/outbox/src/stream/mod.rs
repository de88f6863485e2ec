//! Claims messages and hands them out as streams.

mod batch;
mod batch_outcome;
mod batches;
mod buffer;
mod claim;
mod claim_call;
mod claimer;
mod claims;
mod isolation;
mod linger;
mod returns;

pub use batch::{Batch, BatchError};
pub use batch_outcome::BatchOutcome;
pub use batches::Batches;
pub use claim::Claim;
pub use claims::Claims;
pub(crate) use linger::Linger;
