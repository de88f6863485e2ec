use claimstream_ports::{DistributedLock, ListInstances, ListLocks, ReleaseLeases};

/// What the pages of instances, leases and locks need of a store.
pub(crate) trait Holders: ListInstances + ReleaseLeases + ListLocks + DistributedLock {}

impl<S: ListInstances + ReleaseLeases + ListLocks + DistributedLock> Holders for S {}
