//! What claims lock, and what they read while messages are settled.

pub mod locks;
pub mod one_writer;
