use claimstream_domain::{Claimed, Settlement, Shard};

/// The messages that a claim has collected so far.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) taken: Vec<Claimed>,
    /// There was more than fits into the budget.
    pub(crate) is_cut_short: bool,
    /// The burials of messages that cannot be read.
    pub(crate) unreadable: Vec<Settlement>,
    /// Where a message has two entries; the older one was handed out.
    pub(crate) with_twins: Vec<Shard>,
}
