//! Locks for a while, with a fence.

pub(crate) mod rows;
