//! The acceptance scenarios, by their numbers.
#![allow(missing_docs, reason = "the name of a scenario is its sentence")]

pub mod consents;
pub mod digests;
pub mod fan_out;
pub mod notification_ends;
pub mod outbox;
pub mod providers;
pub mod relay;
pub mod revival;
pub mod server;
pub mod template_editing;
pub mod timer_events;

use crate::{Fixture, NotificationFixture, ServerFixture, TimerFixture, suite::Case};

/// The scenarios of the outbox.
pub fn outbox() -> impl Iterator<Item = &'static Case<Fixture>> {
    relay::SCENARIOS.iter().copied().chain([outbox::SCENARIOS, outbox::CONCURRENT]).flatten()
}

/// Those on a real server, where what happens at one time is made to happen at one time.
pub fn server() -> impl Iterator<Item = &'static Case<ServerFixture>> {
    server::SCENARIOS.iter()
}

/// Those of notification requests.
pub fn notifications() -> impl Iterator<Item = &'static Case<NotificationFixture>> {
    let ends = [revival::SCENARIOS, fan_out::SCENARIOS, notification_ends::SCENARIOS];
    let others = [consents::SCENARIOS, digests::SCENARIOS, providers::SCENARIOS, template_editing::SCENARIOS];
    ends.into_iter().chain(others).flatten()
}

/// Those of timer events.
pub fn timers() -> impl Iterator<Item = &'static Case<TimerFixture>> {
    timer_events::SCENARIOS.iter().copied().flatten()
}
