//! The place of a server among others: alone, in a cluster, or with replicas; and whether it takes writes.

pub(crate) mod place;
pub(crate) mod read;
pub(crate) mod role;
