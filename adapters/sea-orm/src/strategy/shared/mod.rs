//! What several strategies use.

pub(super) mod answers;
pub(super) mod children;
pub(super) mod group;
pub(super) mod known_shards;
pub(super) mod shard_walk;
pub(super) mod take_back;
