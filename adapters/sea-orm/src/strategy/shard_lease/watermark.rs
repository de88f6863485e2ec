use std::time::Duration;

/// Where a claim begins to read a shard whose keys are in order, and how far it may go from there.
///
/// It belongs to the shard's state, and is forgotten with it: it relies on the messages in flight being known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Watermark {
    /// The due time from which on the shard is read. When it was read from its beginning, nothing below was left to hand out.
    pub(crate) low: i64,
    /// When the shard was last read from its beginning, in the store's time.
    ///
    /// A message that is due later may have been written after one of its key whose transaction has committed since, and
    /// which lies below and is not read. What is due earlier was written earlier, so what was committed before it was read.
    pub(crate) read_at: i64,
    /// The same moment on the monotonic clock.
    pub(crate) since: Duration,
}

impl Watermark {
    /// A message that commits late waits no longer than this.
    const LIVES: Duration = Duration::from_secs(2);

    /// Whether it may still be used at `now` on the monotonic clock.
    pub(crate) fn is_fresh(&self, now: Duration) -> bool {
        now.saturating_sub(self.since) < Self::LIVES
    }
}

/// Where a read of a shard begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Start {
    /// The due time from which on it reads.
    pub(crate) low: i64,
    /// When the shard was last read from its beginning, in the store's time; none if this read does.
    pub(crate) read_at: Option<i64>,
    /// The same moment on the monotonic clock.
    pub(crate) since: Duration,
}

impl Start {
    /// Reads a shard from a due time on, where keys are in no order; from its beginning if that is none.
    pub(crate) fn at(low: i64, now: Duration) -> Self {
        Self { low, read_at: None, since: now }
    }
}

impl From<Watermark> for Start {
    fn from(Watermark { low, read_at, since }: Watermark) -> Self {
        Self { low, read_at: Some(read_at), since }
    }
}
