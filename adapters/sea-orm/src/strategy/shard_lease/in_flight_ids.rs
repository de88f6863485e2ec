use std::collections::HashSet;

use claimstream_domain::MessageId;

use crate::strategy::shard_lease::shard_state::ShardState;

/// The messages in flight that a lease row tells of.
pub(crate) fn in_flight_ids(bytes: &[u8]) -> HashSet<MessageId> {
    ShardState::read_bytes(bytes).into_iter().map(|(_, id)| id).collect()
}
