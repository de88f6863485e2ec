//! Streams of claims: how they stop, wait, wake up, and which executors they run on.

pub mod binlog;
mod listener;
pub mod resting;
pub mod runtimes;
pub mod slow;
pub mod wakeups;
