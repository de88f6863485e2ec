//! The lease row of a shard: made, taken over, and written under its fence.

pub(crate) mod acquire;
pub(crate) mod args;
mod charge;
mod lost_answer;
pub(crate) mod release;
pub(crate) mod together;
pub(crate) mod write;
pub(crate) mod written;
