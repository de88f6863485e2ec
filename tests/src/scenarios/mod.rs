//! The acceptance scenarios, by their numbers.
#![allow(missing_docs, reason = "the name of a scenario is its sentence")]

pub mod outbox;
pub mod relay;

use crate::{Stage, conformance::Clause};

/// What every store must bear.
pub fn all() -> impl Iterator<Item = &'static Clause<Stage>> {
    [outbox::SCENARIOS, relay::SCENARIOS].into_iter().flatten()
}

/// A scenario that is not run.
pub struct NotRun {
    /// Its name.
    pub name: &'static str,
    /// Why.
    pub why: &'static str,
}

/// The scenarios that are not run.
pub const NOT_RUN: &[NotRun] = &[
    NotRun {
        name: "scenarios::a0_6",
        why: "a fault inside the claim's own transaction needs a lock suite on a server",
    },
    NotRun { name: "scenarios::a0_9", why: "no strategy owns whole shards yet" },
];
