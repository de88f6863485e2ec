use std::collections::HashSet;

use claimstream_domain::MessageId;

use crate::strategy::shard_lease::hold::Hold;

/// The messages in flight that a lease row tells of.
pub(crate) fn flights(bytes: &[u8]) -> HashSet<MessageId> {
    Hold::read_bytes(bytes).into_iter().map(|(_, id)| id).collect()
}
