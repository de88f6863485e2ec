//! The contracts of the ports, one function for each sentence.
//!
//! A clause gets a stage of its own and panics if its sentence does not hold. Every store with every strategy plays all
//! clauses of the ports it has; a port that not every store has is a list of its own.
#![allow(missing_docs, reason = "the name of a clause is its sentence")]

pub mod claim;
pub mod dead_letters;
pub mod enqueue;
pub mod locks;
pub mod notifications;
pub mod observe;
pub mod opening;
pub mod packet;
pub mod payload;
pub mod renew;
pub mod settle;
pub mod steps;
pub mod transactions;

use futures::future::BoxFuture;

use crate::{LockStage, NotificationStage, ServerStage, Stage, StepStage};

/// One sentence of a contract.
pub struct Clause<S: 'static> {
    /// The file it stands in.
    pub topic: &'static str,
    /// The sentence.
    pub name: &'static str,
    /// Plays it.
    pub play: fn(S) -> BoxFuture<'static, ()>,
}

/// What every store owes.
pub fn outbox() -> impl Iterator<Item = &'static Clause<Stage>> {
    [
        claim::CLAUSES,
        settle::CLAUSES,
        renew::CLAUSES,
        enqueue::CLAUSES,
        dead_letters::CLAUSES,
        observe::CLAUSES,
    ]
    .into_iter()
    .flatten()
}

/// What a store owes that lets two transactions write at a time.
pub fn concurrent() -> impl Iterator<Item = &'static Clause<Stage>> {
    transactions::CLAUSES.iter()
}

/// What a store owes whose greatest payload is small enough to be tried.
pub fn payload() -> impl Iterator<Item = &'static Clause<Stage>> {
    payload::CLAUSES.iter()
}

/// What a store owes that lives on a server.
pub fn server() -> impl Iterator<Item = &'static Clause<ServerStage>> {
    opening::CLAUSES.iter()
}

/// What a store owes whose greatest payload is the one that its server takes; a dear one.
pub fn packet() -> impl Iterator<Item = &'static Clause<ServerStage>> {
    packet::CLAUSES.iter()
}

/// What a store owes that keeps notification requests.
pub fn notification() -> impl Iterator<Item = &'static Clause<NotificationStage>> {
    notifications::CLAUSES.iter()
}

/// What a store owes that has a step ledger.
pub fn step() -> impl Iterator<Item = &'static Clause<StepStage>> {
    steps::CLAUSES.iter()
}

/// What a store owes that has locks.
pub fn lock() -> impl Iterator<Item = &'static Clause<LockStage>> {
    locks::CLAUSES.iter()
}

/// The clauses of a file: `clauses!("claim": a_sentence, another_one)`.
macro_rules! clauses {
    ($topic:literal: $($name:ident),+ $(,)?) => {
        &[$($crate::conformance::Clause {
            topic: $topic,
            name: stringify!($name),
            play: |stage| Box::pin($name(stage)),
        }),+]
    };
}
pub(crate) use clauses;
