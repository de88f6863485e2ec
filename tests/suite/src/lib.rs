//! What the tests of Claimstream share: a suite of cases and their needs, stores with a strategy, and what one run of a case gets.
//!
//! | module | what is there |
//! |---|---|
//! | [`backend`] | a store with a strategy |
//! | [`fixture`] | what one run of a case gets |
//! | [`suite`] | cases, needs, all tests by name, and the table at the end |
//! | `claimstream-testbed`, in `tests/testbed/` | private servers, scratch databases, loads: shared with the bench |
//!
//! The tests stand in crates by topic, each with one program that it runs:
//!
//! | crate in `tests/` | what is shown |
//! |---|---|
//! | `contracts` | the contracts of the ports, the scenarios, the model test, the order of keys: on every store with every strategy |
//! | `relays` | claims, settlements, streams, connections, budgets, locks before claims, producers in other languages |
//! | `operation` | failing servers and networks, what operators do, what a sweep takes away |
//! | `steps` | inbox, sagas and TCC, under duplicates, crashes and kills |
//! | `nodes` | relays on clusters whose nodes are killed, paused, cut off and replaced |
//! | `pages` | the code that the documents show |
//! | `source` | rules about the source tree |
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
//! | test | one case on one backend, or one test of a topic; its name is `backend::strategy::topic::sentence` |
//! | [`Suite`] | all tests; it runs a case on each backend that has what it needs, and reports what it left out |
#![forbid(unsafe_code)]

pub mod backend;
mod databases;
pub mod fixture;
mod redis_connection;
pub mod suite;

pub use claimstream_testbed::{PrivateDatabase, PrivateRedis, ScratchDatabase, Server, servers, statement};
pub use fixture::{
    Action, Barrier, Begin, Clock, Events, Facts, Fixture, History, Instance, LEASE, LockFixture,
    NotificationFixture, NotificationPorts, OpenPorts, Ports, RunStore, ServerFixture, SetUpEvents,
    StepFixture, StepTransaction, SubmitTransaction, TestDecision, TestScheme, TimerFixture, TimerPorts,
    Transaction, ids,
};
pub use redis_connection::redis_connection;
pub use suite::{Case, Coverage, Need, Report, Suite, repetitions};
