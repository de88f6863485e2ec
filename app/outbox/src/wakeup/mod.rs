//! Wakes relays of this process.

mod listener;
mod local;

pub(crate) use listener::{Listening, WakeupListener};
pub use local::LocalWakeup;
