//! The conformance suite of Claimstream's ports and everything that is built on it.
//!
//! Contracts and courses of events, on every store with every strategy:
//!
//! | topic | what is shown |
//! |---|---|
//! | [`conformance`] | the contracts of the ports, sentence by sentence |
//! | [`scenarios`] | the acceptance scenarios, by their numbers |
//! | [`model`] | random operations, two stores side by side |
//! | [`order`] | the order of keys under random failures, kills and take-overs |
//!
//! One topic after the other, where a contract has no word for it:
//!
//! | topic | what is shown |
//! |---|---|
//! | [`claims`] | which rows and keys claims lock, and reading on behind thousands of messages |
//! | [`settlement`] | settlements that meet others, come again, or find their messages gone |
//! | [`streams`] | streams of claims that stop, wait, wake up, and run on any executor |
//! | [`connections`] | callers' own connections, few connections, many queues, dropped futures |
//! | [`failures`] | failing servers, networks and disks, failovers, missing tables |
//! | [`guarded`] | claims behind a lock whose holder dies or pauses |
//! | [`upkeep`] | what a sweep takes away and what it must leave |
//! | [`operating`] | openings, rights, errors with the way out, the view |
//! | [`inbox`], [`tcc`], [`sagas`] | what stands on the step ledger, under duplicates, crashes and kills |
//!
//! The rest:
//!
//! | topic | what is there |
//! |---|---|
//! | [`backend`] | a store with a strategy |
//! | `fixture` | what one trial gets: two instances, an empty queue, and time that is moved by hand |
//! | `suite` | all trials by name, and the table at the end |
//! | [`pages`] | the code that the documents show |
//! | [`invariants`] | rules about the source tree |
//! | `claimstream-testbed`, in `testbed/` | private servers, scratch databases, loads: shared with the bench |
//!
//! A new store joins by a [`backend::Venue`]; it owes every clause and every scenario.
#![forbid(unsafe_code)]

pub mod backend;
pub mod claims;
pub mod conformance;
pub mod connections;
pub mod failures;
mod fixture;
pub mod guarded;
pub mod inbox;
pub mod invariants;
pub mod model;
pub mod operating;
pub mod order;
pub mod pages;
mod readme;
pub mod sagas;
pub mod scenarios;
pub mod settlement;
pub mod streams;
mod suite;
pub mod tcc;
pub mod upkeep;

pub use claimstream_testbed::Server;
use claimstream_testbed::{PrivateDatabase, PrivateRedis, ScratchDatabase, servers, statement};
pub use fixture::{
    Act, Barrier, Begin, Clock, Events, Facts, HandTimer, History, Instance, LEASE, LockStage,
    NotificationPorts, NotificationStage, Opener, Part, Play, Ports, ServerStage, SetUpEvents, Stage,
    StepStage, StepTransaction, SubmitTransaction, TimerPorts, TimerStage, Transaction, ids,
};
pub use suite::{Report, Suite};
