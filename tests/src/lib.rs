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
//! | [`budgets`] | what each step costs on the wire, in statements and round trips |
//! | [`failures`] | failing servers, networks and disks, failovers, missing tables |
//! | [`clusters`] | relays on clusters whose nodes are killed, paused, cut off and replaced |
//! | [`guarded`] | claims behind a lock whose holder dies or pauses |
//! | [`upkeep`] | what a sweep takes away and what it must leave |
//! | [`operating`] | openings, rights, errors with the way out, mixed strategies, the view |
//! | [`inbox`], [`tcc`], [`sagas`] | what stands on the step ledger, under duplicates, crashes and kills |
//!
//! The rest:
//!
//! | topic | what is there |
//! |---|---|
//! | [`backend`] | a store with a strategy |
//! | `fixture` | what one run of a case gets |
//! | `suite` | cases, needs, all trials by name, and the table at the end |
//! | [`pages`] | the code that the documents show |
//! | [`invariants`] | rules about the source tree |
//! | `claimstream-testbed`, in `testbed/` | private servers, scratch databases, loads: shared with the bench |
//!
//! A new store joins by a [`backend::Backend`] that says what it has; it owes every case that needs no more.
//!
//! The words:
//!
//! | word | meaning |
//! |---|---|
//! | backend | a store with a strategy, such as `shard_lease` on `mysql-9.7` |
//! | clause | one sentence of a port's contract, as a function of that name |
//! | scenario | a course of events with a number of its own, as a function |
//! | [`Case`] | a clause or a scenario with what it needs |
//! | [`Need`] | what a case asks for and a backend has, such as `Sharing` |
//! | [`Fixture`] | what one run of a case gets: two instances, an empty queue, time that is moved by hand |
//! | trial | one case on one backend, or one test of a topic; its name is `backend::strategy::topic::sentence` |
//! | [`Suite`] | all trials; it runs a case on each backend that has what it needs, and reports what it left out |
#![forbid(unsafe_code)]

pub mod backend;
pub mod budgets;
pub mod claims;
pub mod clusters;
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
pub mod producers;
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
    Action, Barrier, Begin, Clock, Events, Facts, Fixture, History, Instance, LEASE, LockFixture,
    NotificationFixture, NotificationPorts, OpenPorts, Ports, RunStore, ServerFixture, SetUpEvents,
    StepFixture, StepTransaction, SubmitTransaction, TestDecision, TestScheme, TimerFixture, TimerPorts,
    Transaction, ids,
};
pub use suite::{Case, Coverage, Need, Report, Suite};
