//! Claimstream's [`DistributedLock`](claimstream_ports::DistributedLock) and [`Wakeup`](claimstream_ports::Wakeup) on
//! Redis 5 or later, or Valkey: one server, a cluster, or whatever sentinels say is the master.
//!
//! Both save work and decide nothing. A Redis that is flushed, restarted or failed over forgets who holds a lock, and then
//! two may hold it; it loses wakeups. The outbox stays correct, because claims are decided by the database and their
//! claim ids. Do not protect anything by this lock that is not fenced by something better.
//!
//! Every call ends within [`RedisPlace::TIMEOUT`], and for a moment after Redis could not be reached calls are refused at
//! once, so that a Redis that is away costs next to nothing. Connections are made when they are needed and again when they
//! break. All of it needs tokio around it.
#![forbid(unsafe_code)]
// Shows with each item which feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod connection;
mod lock;
mod place;
mod signal;
mod trouble;
mod wakeup;

pub use lock::RedisLock;
pub use place::RedisPlace;
pub use wakeup::RedisWakeup;

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
