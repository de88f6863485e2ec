//! The timer and the shutdown signal of Claimstream on tokio.
#![forbid(unsafe_code)]

mod shutdown;
mod timer;

pub use shutdown::shutdown_signal;
pub use timer::TokioTimer;

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
