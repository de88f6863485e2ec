//! Locks for a while, with a fence.

pub(crate) mod list;
pub(crate) mod rows;
pub(crate) mod sweep;
