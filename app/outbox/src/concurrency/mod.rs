//! Limits how many messages pipelines of one process handle at a time.

mod places;
mod shared_concurrency;

pub(crate) use places::Places;
pub use shared_concurrency::{ConcurrencyShare, SharedConcurrency};
