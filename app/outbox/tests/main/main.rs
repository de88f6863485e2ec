//! The stream, the settler and the pipeline against scripted ports. Time moves by hand; nobody sleeps.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "all of it is test code, which nothing can reach")]

mod any_handler;
mod any_script;
mod batch_actor;
mod batch_pipeline;
mod batch_room;
mod batches;
mod claim_trouble;
mod claims;
mod dead_letters;
mod failed_attempts;
mod log;
mod pacing;
mod pipeline;
mod play;
mod renewals;
mod runs;
mod settlement_trouble;
mod settling;
mod settling_errors;
mod shared_concurrency;
mod shutdown;
mod slow_handler;
mod slow_store;
mod taken;
mod telemetry;
mod time_limits;
mod together;
mod traces;
mod waiting;
