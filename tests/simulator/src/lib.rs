//! Runs streams, pipelines, sagas, TCC, timer events, the inbox and notifications under faults that a seed decides.
//!
//! A schedule is one run of a [`World`] on the memory store: a few messages and processes on one thread, in virtual time. The
//! seed decides the order in which tasks run and everything that goes wrong. The same seed is the same schedule.
#![forbid(unsafe_code)]

mod db;
mod executor;
mod journal;
mod random;
mod relays;
mod running;
mod sabotage;
mod said;
mod schedule;
mod show;
mod sim;
mod store;
mod timer;
mod weather;
mod worlds;

pub use sabotage::Sabotage;
pub use schedule::{Outcome, Schedule};
pub use timer::HandTimer;
pub use weather::Mishap;
pub use worlds::World;

/// What a scripted panic carries; nothing is printed for it.
pub(crate) struct Scripted;
