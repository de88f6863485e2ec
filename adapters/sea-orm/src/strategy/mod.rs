pub(crate) mod choice;
pub(crate) mod order;
pub(crate) mod shard_lease;
