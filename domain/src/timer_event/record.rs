use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Tick;
use crate::{QueueName, Timestamp};

/// The record of an event, without its status.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventRecord {
    /// When it was begun, by the store's clock; its deadline is counted from here.
    pub began: Timestamp,
    /// Whether the timer has been moved on to the next occurrence, in the transaction that said so here.
    #[serde(default)]
    pub moved_on: bool,
    /// The queue whose tick began it; nothing in a row of an earlier build.
    #[serde(default)]
    pub queue: Option<Box<str>>,
}

impl EventRecord {
    /// An event that begins now, by a tick of this queue.
    pub fn begin(now: Timestamp, queue: &QueueName) -> Self {
        Self { began: now, moved_on: false, queue: Some(queue.as_str().into()) }
    }

    /// Reads the stored record. Of an event that was written without a record, only the occurrence is known.
    pub fn read(kept: Option<&[u8]>, tick: &Tick) -> Self {
        let read = kept.and_then(|bytes| serde_json::from_slice(bytes).ok());
        read.unwrap_or(Self { began: tick.occurrence, moved_on: false, queue: None })
    }

    /// The same event with its timer moved on.
    pub fn moved_on(self) -> Self {
        Self { moved_on: true, ..self }
    }

    /// Whether a tick of another queue began it.
    pub fn is_of_another(&self, queue: &QueueName) -> bool {
        self.queue.as_deref().is_some_and(|began| began != queue.as_str())
    }

    /// How long ago the event was begun, if it is `now`.
    pub fn since(&self, now: Timestamp) -> Duration {
        Duration::from_micros(now.as_micros().saturating_sub(self.began.as_micros()).max(0).unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_as_it_was_kept_and_never_refused() {
        let tick =
            Tick { scheme: "bill".parse().unwrap(), occurrence: Timestamp::from_micros(5_000_000).unwrap() };
        let [timers, others] = ["timers", "others"].map(|name| QueueName::new(name).unwrap());
        let begun = EventRecord::begin(tick.moment(Duration::from_secs(2)), &timers);
        assert!(begun.is_of_another(&others) && !begun.is_of_another(&timers));
        assert_eq!(begun.began.as_micros(), 7_000_000);
        let kept = serde_json::to_vec(&begun.clone().moved_on()).unwrap();
        assert_eq!(EventRecord::read(Some(&kept), &tick), begun.clone().moved_on());
        let before = EventRecord::read(Some(br#"{"began":7000000,"moved_on":true}"#), &tick);
        assert!(!before.is_of_another(&others));
        for unknown in [None, Some(&b"?"[..])] {
            let read = EventRecord::read(unknown, &tick);
            assert_eq!((read.began, read.moved_on), (tick.occurrence, false));
        }
        assert_eq!(begun.since(tick.moment(Duration::from_secs(5))), Duration::from_secs(3));
        assert_eq!(begun.since(tick.occurrence), Duration::ZERO);
    }
}
