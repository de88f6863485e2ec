//! The timer and the shutdown signal on tokio.
