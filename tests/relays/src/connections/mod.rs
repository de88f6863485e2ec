//! What becomes of the outbox's connections, of its callers' own, and of futures that are dropped.

pub mod callers;
pub mod cancellation;
pub mod few_connections;
pub mod many_queues;
