//! The stream, the settler and the pipeline against scripted ports. Time moves by hand; nobody sleeps.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "all of it is test code, which nothing can reach")]

mod claims;
mod dead_letters;
mod failed_attempts;
mod log;
mod pacing;
mod pipeline;
mod play;
mod renewals;
mod settlement_trouble;
mod settling;
mod shutdown;
mod slow_store;
mod together;
mod traces;
mod virtual_timer;
mod waiting;
