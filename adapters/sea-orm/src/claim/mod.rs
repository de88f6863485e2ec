//! Due messages are claimed, shard after shard.

pub(crate) mod announcements;
pub(crate) mod call;
pub(crate) mod known_shards;
pub(crate) mod marking;
pub(crate) mod read;
pub(crate) mod row_claims;
pub(crate) mod rows;
pub(crate) mod visits;
pub(crate) mod weights;
