//! The timer and the shutdown signal of Claimstream on tokio.
#![forbid(unsafe_code)]

mod shutdown;
mod timer;

pub use shutdown::shutdown_signal;
pub use timer::TokioTimer;
