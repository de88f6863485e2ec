use std::time::Duration;

use claimstream_domain::{
    Timestamp,
    timer_event::{DecisionName, EventId, SchemeName, Tick},
};
use serde::Serialize;

/// The event that a decision is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventInfo {
    /// Its scheme.
    pub scheme: SchemeName,
    /// The moment of the schedule that it belongs to; it may be long ago if no relay was there to handle it.
    pub occurrence: Timestamp,
    /// Its id, the same in every attempt.
    pub id: EventId,
}

/// An event whose deadline passed before everything had succeeded; what an alarm and a hook are about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TimedOut {
    /// Its scheme.
    pub scheme: SchemeName,
    /// The moment of the schedule that it belongs to.
    pub occurrence: Timestamp,
    /// Its id.
    pub event: EventId,
    /// How long it had, in seconds.
    #[serde(serialize_with = "as_seconds")]
    pub deadline: Duration,
    /// The decisions that have not succeeded, in their order.
    pub unfinished: Vec<DecisionName>,
}

impl EventInfo {
    pub(super) fn of(tick: &Tick) -> Self {
        Self { scheme: tick.scheme.clone(), occurrence: tick.occurrence, id: tick.event_id() }
    }
}

fn as_seconds<S: serde::Serializer>(deadline: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(deadline.as_secs_f64())
}
