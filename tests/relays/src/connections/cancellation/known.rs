use std::collections::{HashMap, HashSet};

use claimstream_domain::{MessageId, Receipt};

/// What the store has answered.
#[derive(Default)]
pub(super) struct Known {
    pub(super) acknowledged: HashSet<MessageId>,
    pub(super) settled: HashMap<MessageId, Receipt>,
    /// Messages whose settlement was cut short; it may have taken effect.
    pub(super) maybe_settled: HashSet<MessageId>,
}

impl Known {
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.acknowledged.len(), self.settled.len())
    }
}
