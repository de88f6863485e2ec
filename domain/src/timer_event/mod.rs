//! Events that a timer triggers, as pure decisions: when they occur, what a tick does, and when an event is over.
//!
//! | decision | made by |
//! |---|---|
//! | when is the next occurrence? | [`Schedule::next_after`] |
//! | does a tick run, time out, or find nothing to do? | [`course`] |
//! | which decision is next, and has all been done? | [`Round`] |
//! | which status follows? | [`EventStatus::after`] |
//! | under which ids and keys? | [`Tick`] |

mod course;
mod cron;
mod listed;
mod name;
mod record;
mod round;
mod schedule;
mod status;
mod tick;

pub use course::{Course, course};
pub use cron::Cron;
pub use listed::{TimerListed, TimerPage, TimerPlace};
pub use name::{DecisionName, SchemeName};
pub use record::EventRecord;
pub use round::{FailurePolicy, Round, RoundEnd};
pub use schedule::{Interval, Schedule};
pub use status::{EventEnd, EventStatus, IllegalEnd};
pub use tick::{EventId, Tick};
