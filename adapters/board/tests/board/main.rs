//! The router of the board, on the memory store and on mocks: every page, every action and every refusal.
#![allow(clippy::unwrap_used, reason = "tests")]

mod audit;
mod browser;
mod dead;
mod doctor;
mod graveyard;
mod guarding;
mod overview;
mod pauses;
mod queue;
