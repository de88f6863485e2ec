use claimstream_domain::{ClaimId, InstanceId, OrderingKey, StreamId};

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
    /// The stream that has it in the run of its key.
    pub(crate) run_of: Option<StreamId>,
    /// A message before it in its run may come again: it can only be given back.
    pub(crate) is_revoked: bool,
    /// One behind it in its run was given back: nothing follows it until it has ended.
    pub(crate) is_last: bool,
    /// An earlier attempt was cut off: nothing else of the shard is handed out with it.
    pub(crate) alone: bool,
}

impl InFlight {
    /// The instance and the stream that have it in a run.
    pub(crate) fn taken_by(&self) -> Option<(InstanceId, StreamId)> {
        self.run_of.map(|stream| (self.claim.instance(), stream))
    }

    /// Whether its claim has expired at `now`.
    pub(crate) fn has_expired(&self, now: i64) -> bool {
        self.deadline <= now
    }
}
