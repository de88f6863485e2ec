//! Settlements that meet others, find their messages gone, or come again.

pub mod disputes;
pub mod shared_writes;
pub mod thin_load;
mod thin_trouble;
