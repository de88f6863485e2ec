//! Small models of Claimstream's protocols: every order of events is tried, within bounds.
//!
//! A model has a few processes, their tables and a network that loses, doubles and delays. A process may die at any
//! point, or stand still for as long as it likes and go on from where it was. Time is not counted: whatever waits for a
//! moment may find that the moment has come.
//!
//! Each model can have a fault of the source texts put back, one at a time. The explorer then has to find the course of
//! events that the fault allows, and for the protocol as it is built it has to find none.
//! Promise: in every order of events, lease, shard lease, inbox, TCC, sagas and resharding keep their
//! promises

mod exploration;
mod explorer;
mod graph;
pub mod inbox;
pub mod lease;
mod promise;
mod protocol;
pub mod resharding;
pub mod run;
pub mod saga;
pub mod shard_lease;
mod show;
pub mod tcc;

pub use exploration::{Broken, Exploration};
pub use explorer::{MOST_STATES, explore, refute};
pub use promise::{Promise, Requirement};
pub use protocol::Protocol;
pub use show::{show_that_it_breaks, show_that_it_keeps_every_promise};
