//! The contracts of the ports, one function for each sentence.
//!
//! A clause gets a fixture of its own and panics if its sentence does not hold. It says what it needs, and every store with
//! every strategy that has all of it runs it.
#![allow(missing_docs, reason = "the name of a clause is its sentence")]

pub mod ahead;
pub mod audit;
pub mod claim;
pub mod dead_letters;
pub mod enqueue;
pub mod find;
pub mod instances;
pub mod keeping;
pub mod locks;
pub mod notifications;
pub mod observe;
pub mod opening;
pub mod order;
pub mod ownership;
pub mod packet;
pub mod pauses;
pub mod payload;
pub mod releases;
pub mod renew;
pub mod runs;
pub mod settle;
pub mod steps;
pub mod transactions;

use crate::{Fixture, LockFixture, NotificationFixture, ServerFixture, StepFixture, suite::Case};

/// The clauses of the outbox.
pub fn outbox() -> impl Iterator<Item = &'static Case<Fixture>> {
    let others = [
        renew::CLAUSES,
        enqueue::CLAUSES,
        dead_letters::CLAUSES,
        find::CLAUSES,
        observe::CLAUSES,
        ownership::CLAUSES,
        keeping::CLAUSES,
        ahead::CLAUSES,
        order::CLAUSES,
        order::LATE,
        transactions::CLAUSES,
        payload::CLAUSES,
        pauses::CLAUSES,
        audit::CLAUSES,
        instances::CLAUSES,
        releases::CLAUSES,
    ];
    claim::CLAUSES.iter().chain(settle::CLAUSES).copied().chain(others).flatten()
}

/// Those that are about a real server: how an outbox is opened there, and what fits into its packets.
pub fn server() -> impl Iterator<Item = &'static Case<ServerFixture>> {
    [opening::CLAUSES, packet::CLAUSES].into_iter().flatten()
}

/// Those of notification requests.
pub fn notifications() -> impl Iterator<Item = &'static Case<NotificationFixture>> {
    notifications::CLAUSES.iter().copied().flatten()
}

/// Those of the step ledger.
pub fn steps() -> impl Iterator<Item = &'static Case<StepFixture>> {
    steps::CLAUSES.iter().copied().chain([runs::CLAUSES, runs::continued::CLAUSES]).flatten()
}

/// Those of locks.
pub fn locks() -> impl Iterator<Item = &'static Case<LockFixture>> {
    locks::CLAUSES.iter()
}
