//! Settlements that meet others, find their messages gone, or come again.

pub mod disputes;
pub mod redelivery;
pub mod shared_writes;
