//! Each protocol, as it is and with known faults, in every order of events.
#![forbid(unsafe_code)]

mod inbox;
mod lease;
mod resharding;
mod run;
mod saga;
mod shard_lease;
mod tcc;
