//! A2: timer events.
//! Promise: a decision of a timer event succeeds once, an event ends once, and its timer continues

mod calls;
pub mod crashes;
pub mod deadlines;
mod gate;
pub mod nodes;
pub mod repetition;
pub mod schedules;
mod turn;

use crate::{TimerFixture, suite::Case};

pub const SCENARIOS: &[&[Case<TimerFixture>]] = &[
    repetition::SCENARIOS,
    nodes::CONCURRENT,
    deadlines::SCENARIOS,
    crashes::SCENARIOS,
    schedules::SCENARIOS,
];
