use claimstream_domain::{ClaimId, OrderingKey};

/// A message that was handed out, or read ahead, and is not settled yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct InFlight {
    pub(crate) claim: ClaimId,
    pub(crate) due: i64,
    /// The attempts that its row counts, without this one.
    pub(crate) attempts: u32,
    /// When its claim expires, in the store's time.
    pub(crate) deadline: i64,
    pub(crate) key: Option<OrderingKey>,
    /// An earlier attempt was cut off: nothing else of the shard is handed out beside it.
    pub(crate) alone: bool,
}

impl InFlight {
    /// Whether its claim has expired at `now`.
    pub(crate) fn has_expired(&self, now: i64) -> bool {
        self.deadline <= now
    }
}
