//! A relay that reads a queue as a stream.

pub mod batches;
pub mod dead_letters;
pub mod pacing;
pub mod pauses;
pub mod poison;
pub mod prefetch;
mod process;
mod watched;

use crate::{Fixture, suite::Case};

pub const SCENARIOS: &[&[Case<Fixture>]] = &[
    batches::SCENARIOS,
    dead_letters::SCENARIOS,
    poison::SCENARIOS,
    prefetch::SCENARIOS,
    pacing::SCENARIOS,
    pauses::SCENARIOS,
];
