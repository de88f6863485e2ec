use std::time::Duration;

use crate::LeaseListed;

/// The lease of a shard as an operator looks at it before it is released.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaseShown {
    /// The lease.
    pub lease: LeaseListed,
    /// For how long the oldest message in flight under it has been due.
    pub oldest: Option<Duration>,
}

/// How the release of a shard's lease by an operator ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaseRelease {
    /// The shard is free under a new fence.
    Released {
        /// How many messages were in flight and are due again, each with one attempt more.
        cut_off: u64,
    },
    /// Nothing was changed: the lease has another fence than the one that was shown, or is not held.
    Changed,
}
