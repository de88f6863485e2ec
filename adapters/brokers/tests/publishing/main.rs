//! The adapters on real brokers, which are killed and started again.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

#[cfg(feature = "nats")]
mod leaderless_nats;
mod load;
#[cfg(feature = "nats")]
mod nats;
mod publication;
#[cfg(feature = "redis-streams")]
mod redis_streams;
