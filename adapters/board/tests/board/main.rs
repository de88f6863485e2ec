//! The router of the board, on the memory store and on mocks: every page, every action and every refusal.
#![allow(clippy::unwrap_used, reason = "tests")]

mod audit;
mod boards;
mod browser;
mod dead;
mod dead_work;
mod doctor;
mod find;
mod graveyard;
mod guarding;
mod holders;
mod message;
mod notified;
mod overview;
mod pauses;
mod queue;
mod requests;
mod runs;
