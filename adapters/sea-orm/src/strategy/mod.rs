pub(crate) mod choice;
pub(crate) mod order;
pub(crate) mod probe;
pub(crate) mod shard_lease;
