//! The routes on mocked ports, and the server on sockets.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod answers;
mod api;
mod description;
mod guarding;
mod inbox;
mod people;
mod probes;
mod reading;
mod receipts;
mod sending;
mod server;
mod templates;
mod town;
mod unsubscribe;
