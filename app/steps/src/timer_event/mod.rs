//! Events that a timer triggers: each occurrence is handled once, by decisions that are each recorded with their effect,
//! until all have succeeded or the deadline has passed.
//!
//! A timer is a message of the outbox that is due at the next occurrence. Handling it runs the event; the transaction that
//! ends the event enqueues the message of the next occurrence. There is no other scheduler: what fails is retried because
//! the message comes again, and who handles it is settled by its lease.
//!
//! | what | kept by |
//! |---|---|
//! | an occurrence is one event | its row in the step ledger, by a unique key; insert first |
//! | a decision that has succeeded is not repeated | a row of its own, in the transaction of its effect |
//! | an event ends once: succeeded or timed out | compare-and-set of its row |
//! | the timer moves on once, and always | in the transaction of the event's end; one message for an occurrence |
//! | one alarm for a timeout | in the same transaction |
//! | an event in the hands of a run that never comes back times out | a second message, due at the deadline |

mod alarm;
mod decision;
mod event;
mod event_row;
mod event_store;
mod halt;
mod next_ticks;
mod scheme;
mod sending;
#[cfg(test)]
mod tests;
mod ticked;
mod timer_events;
mod visit;

pub use alarm::Alarm;
pub use claimstream_domain::timer_event::{
    Cron, DecisionName, EventId, EventStatus, FailurePolicy, Interval, Schedule, SchemeName, Tick,
};
pub use decision::DecisionError;
pub use event::{EventInfo, TimedOut};
pub use event_store::EventStore;
pub use scheme::{EventScheme, RowLock};
pub use ticked::Ticked;
pub use timer_events::TimerEvents;
