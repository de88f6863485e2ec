//! The ways to claim messages. Each is a folder; [`choose`] is the one place that distinguishes them.

pub(crate) mod choice;
pub(crate) mod choose;
pub(crate) mod contract;
pub(crate) mod order;
pub(crate) mod preemptive_update;
pub(crate) mod rows;
pub(crate) mod shard_lease;
pub(crate) mod skip_locked;
