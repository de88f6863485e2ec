//! The conformance suite of Claimstream's ports and everything that is built on it.
//!
//! | what | where |
//! |---|---|
//! | a store with a strategy, and the stage it gives to a clause | [`venue`], [`Stage`], [`Instance`] |
//! | the contracts, sentence by sentence | [`conformance`] |
//! | the acceptance scenarios | [`scenarios`] |
//! | random operations on two stores at a time | [`model`] |
//! | random failures, crashes and lapses, each message handled once | [`redelivery`] |
//! | random failures, kills and take-overs, and the order of keys | [`order`] |
//! | the code that the documents show | [`pages`] |
//! | rules about the source tree | [`invariants`] |
//! | all of it as named trials, and the table at the end | [`Suite`] |
//!
//! A new store joins by a [`venue::Venue`]; it owes every clause and every scenario.
#![forbid(unsafe_code)]

pub mod callers;
pub mod cancellation;
pub mod conformance;
mod deliveries;
pub mod disputes;
pub mod error_kinds;
pub mod failover;
pub mod fences;
pub mod few_connections;
pub mod guarded;
mod hand_timer;
mod history;
pub mod inbox;
mod instance;
pub mod invariants;
pub mod locks;
pub mod many_queues;
pub mod missing_table;
pub mod model;
pub mod openings;
pub mod order;
pub mod outages;
pub mod outbox_view;
pub mod pages;
pub mod passing_errors;
mod private_database;
mod private_redis;
mod private_server;
pub mod reading_on;
mod readme;
pub mod redelivery;
mod report;
pub mod resting;
pub mod rights;
pub mod runtimes;
pub mod sagas;
pub mod scenarios;
mod scratch_database;
mod server_stage;
mod servers;
pub mod set_back;
pub mod shared_writes;
pub mod slow;
mod stage;
pub mod statement;
mod suite;
pub mod tcc;
mod timer_stage;
mod transaction;
pub mod upkeep;
pub mod venue;
pub mod wakeups;
mod wire;

pub use hand_timer::HandTimer;
pub use history::History;
pub use instance::{Instance, LEASE, Ports, ids};
pub use private_redis::PrivateRedis;
pub use private_server::PrivateServer;
pub use report::Report;
pub use scratch_database::ScratchDatabase;
pub use server_stage::{Barrier, ServerStage};
pub use servers::Server;
pub use stage::{Clock, Facts, LockStage, NotificationPorts, NotificationStage, Opener, Stage, StepStage};
pub use suite::Suite;
pub use timer_stage::{Act, Events, Part, Play, SetUpEvents, TimerPorts, TimerStage};
pub use transaction::{Begin, StepTransaction, SubmitTransaction, Transaction};
