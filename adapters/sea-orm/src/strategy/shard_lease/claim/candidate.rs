use std::time::Duration;

use claimstream_domain::{MessageId, OrderingKey};

/// A due message of a shard, as far as the choice needs to know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Candidate {
    pub(crate) id: MessageId,
    pub(crate) due: i64,
    pub(crate) key: Option<OrderingKey>,
    /// The attempts that its row counts.
    pub(crate) attempts: u32,
    /// An attempt was cut off.
    pub(crate) suspect: bool,
    /// It waits for its retry where it is.
    pub(crate) parked: bool,
    /// How long it has been due.
    pub(crate) waited: Duration,
}
