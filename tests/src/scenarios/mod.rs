//! The acceptance scenarios, by their numbers.
#![allow(missing_docs, reason = "the name of a scenario is its sentence")]

pub mod fan_out;
pub mod outbox;
pub mod relay;
pub mod revival;
pub mod server;
pub mod timer_events;

use crate::{NotificationStage, ServerStage, Stage, TimerStage, conformance::Clause};

/// What every store must bear.
pub fn all() -> impl Iterator<Item = &'static Clause<Stage>> {
    [outbox::SCENARIOS, relay::SCENARIOS].into_iter().flatten()
}

/// What a store must bear that lets two transactions write at a time.
pub fn concurrent() -> impl Iterator<Item = &'static Clause<Stage>> {
    outbox::CONCURRENT.iter()
}

/// What every server must bear, where what happens at a time is made to happen at a time.
pub fn server() -> impl Iterator<Item = &'static Clause<ServerStage>> {
    server::SCENARIOS.iter()
}

/// What a store owes whose claims are behind a lock and that lives on a server.
pub fn guarded_server() -> impl Iterator<Item = &'static Clause<ServerStage>> {
    server().filter(|clause| clause.name.starts_with("a0_6_a_claim_that_breaks"))
}

/// What every store must bear that keeps notification requests and has to be waited for; once, as it takes seconds.
pub fn fan_out() -> impl Iterator<Item = &'static Clause<NotificationStage>> {
    fan_out::SCENARIOS.iter()
}

/// What every store must bear that keeps notifications.
pub fn revival() -> impl Iterator<Item = &'static Clause<NotificationStage>> {
    revival::SCENARIOS.iter()
}

/// What every store must bear that timer events can run on.
pub fn timer() -> impl Iterator<Item = &'static Clause<TimerStage>> {
    timer_events::SCENARIOS.iter()
}

/// What a store must bear that timer events can run on and that lets two transactions write at a time.
pub fn concurrent_timer() -> impl Iterator<Item = &'static Clause<TimerStage>> {
    timer_events::CONCURRENT.iter()
}
