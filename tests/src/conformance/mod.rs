//! The contracts of the ports, one function for each sentence.
//!
//! A clause gets a stage of its own and panics if its sentence does not hold. Every store with every strategy plays all
//! clauses of the ports it has; a port that not every store has is a list of its own.
#![allow(missing_docs, reason = "the name of a clause is its sentence")]

pub mod ahead;
pub mod claim;
pub mod dead_letters;
pub mod enqueue;
pub mod locks;
pub mod notifications;
pub mod observe;
pub mod opening;
pub mod order;
pub mod ownership;
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

/// What a store owes whose claims are behind a lock: all that has to do with claims.
pub fn guarded() -> impl Iterator<Item = &'static Clause<Stage>> {
    [claim::CLAUSES, settle::CLAUSES, renew::CLAUSES].into_iter().flatten()
}

/// What a store owes whose shards are in one instance's hands at a time.
pub fn ownership() -> impl Iterator<Item = &'static Clause<Stage>> {
    ownership::CLAUSES.iter()
}

/// What a store owes whose shards are in one instance's hands at a time and that leases messages ahead.
pub fn ahead() -> impl Iterator<Item = &'static Clause<Stage>> {
    ahead::CLAUSES.iter()
}

/// What a store owes that keeps messages of one key in order.
pub fn order() -> impl Iterator<Item = &'static Clause<Stage>> {
    order::CLAUSES.iter()
}

/// What a store owes that keeps messages of one key in order and lets two transactions write at a time.
pub fn late() -> impl Iterator<Item = &'static Clause<Stage>> {
    order::LATE.iter()
}

/// What a store owes that keeps messages of one key in order, but lets them overtake one that fails.
pub fn skipping() -> impl Iterator<Item = &'static Clause<Stage>> {
    order::SKIPPING.iter()
}

/// Whether two instances hold messages of one shard at a time in a clause, or one ends what the other has claimed; a store
/// whose shards are in one instance's hands owes [`ownership()`] instead.
pub fn asks_for_sharing<S>(clause: &Clause<S>) -> bool {
    SHARING.contains(&(clause.topic, clause.name))
}

const SHARING: &[(&str, &str)] = &[
    ("claim", "two_claims_in_turn_share_no_message"),
    ("settle", "a_batch_is_answered_in_the_order_of_its_entries"),
    ("settle", "a_batch_over_shards_and_queues_is_answered_in_the_order_of_its_entries"),
    ("settle", "a_large_batch_is_settled_whole"),
    ("settle", "a_child_that_exists_already_is_not_enqueued_twice"),
    ("renew", "renewals_are_answered_in_the_order_of_their_entries"),
    ("transactions", "of_many_parallel_settlements_with_one_childs_key_one_has_the_child"),
    ("observe", "an_expired_lease_counts_as_due"),
    ("scenarios", "a0_1_two_claimers_take_three_each"),
    ("scenarios", "a0_1_while_a_claim_is_under_way_another_takes_the_next_three_and_a_producer_goes_on"),
    ("scenarios", "a0_6_a_claim_that_breaks_half_way_leaves_every_message_as_it_was"),
    ("scenarios", "a1_2_a_row_that_is_put_off_while_a_claim_is_under_way_is_not_taken"),
    ("scenarios", "a1_2_a_row_that_is_put_off_and_not_yet_committed_is_not_taken"),
    ("scenarios", "a1_4_a_closed_stream_frees_what_was_not_handled"),
    ("scenarios", "a1_4_a_dropped_stream_frees_what_was_not_handled_when_the_lease_ends"),
];

/// What a store owes that lets two transactions write at a time.
pub fn concurrent() -> impl Iterator<Item = &'static Clause<Stage>> {
    transactions::CLAUSES.iter()
}

/// What a store owes whose greatest payload is small enough to be tried.
pub fn payload() -> impl Iterator<Item = &'static Clause<Stage>> {
    payload::CLAUSES.iter()
}

/// What a store owes that lives on a server, when it is opened.
pub fn opening() -> impl Iterator<Item = &'static Clause<ServerStage>> {
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

/// What a store with a step ledger owes on which two transactions can write at a time.
pub fn concurrent_step() -> impl Iterator<Item = &'static Clause<StepStage>> {
    steps::CONCURRENT.iter()
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
