//! The strategies: the ways to claim messages and to end claims. [`claim_strategy`] is their one trait, [`choose`] the one place
//! that distinguishes them.

pub(crate) mod choice;
pub(crate) mod choose;
pub(crate) mod claim_strategy;
pub(crate) mod order;
mod rows;
pub(crate) mod shard_lease;
mod shared;
