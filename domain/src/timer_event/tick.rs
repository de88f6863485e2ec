use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{DecisionName, SchemeName};
use crate::{DedupKey, Invalid, MessageId, NewMessage, Payload, QueueName, Timestamp};

/// The payload of a timer's outbox message: which event is to be looked after.
///
/// A scheme and an occurrence are the whole identity of an event, so every id that belongs to it is made from them and is
/// the same however often it is made.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Tick {
    /// The scheme.
    pub scheme: SchemeName,
    /// The moment of its schedule that the event belongs to.
    pub occurrence: Timestamp,
}

/// The identity of an event: a UUID made from its scheme and its occurrence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(Uuid);

impl Tick {
    /// What the dedup keys of all ticks begin with; part of the stored format.
    pub const KEYS: &str = "timer/";

    /// What identifies the event within its scheme, as it is stored: the occurrence.
    pub fn unique_code(&self) -> String {
        self.occurrence.to_string()
    }

    /// The moment `late` after the occurrence, or the last moment there is.
    pub fn moment(&self, late: Duration) -> Timestamp {
        let micros = i64::try_from(late.as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(self.occurrence.as_micros().saturating_add(micros)).unwrap_or(Timestamp::MAX)
    }

    /// The event's id.
    pub fn event_id(&self) -> EventId {
        let name = format!("{}\n{}", self.scheme, self.occurrence.as_micros());
        EventId(Uuid::new_v5(&NAMESPACE, name.as_bytes()))
    }

    /// The message that begins the event, due at its occurrence.
    ///
    /// It is unique in its queue, so that a timer which is moved on twice is moved on once.
    pub fn message(&self, queue: &QueueName) -> Result<NewMessage, Invalid> {
        self.message_called(queue, TICK).map(|message| message.deliver_at(self.occurrence))
    }

    /// The same message under an id that it has in this queue alone, for a timer whose queue was changed: the other id belongs to the
    /// message that lies in the queue before. It has the same dedup key, so a queue has one of the two.
    pub fn message_of_queue(&self, queue: &QueueName) -> Result<NewMessage, Invalid> {
        let id = self.id_of(&format!("{TICK}\n{queue}"));
        self.message(queue).map(|message| NewMessage { id, ..message })
    }

    /// A second message of the same event, due when its deadline has passed.
    ///
    /// It is what ends an event whose first message is in the hands of a run that does not come back.
    pub fn deadline_message(&self, queue: &QueueName, deadline: Duration) -> Result<NewMessage, Invalid> {
        self.message_called(queue, DEADLINE).map(|message| message.deliver_after(deadline))
    }

    /// The id of the message that begins the event.
    pub fn message_id(&self) -> MessageId {
        self.id_of(TICK)
    }

    /// The id of the message that ends it at its deadline.
    pub fn deadline_id(&self) -> MessageId {
        self.id_of(DEADLINE)
    }

    fn id_of(&self, which: &str) -> MessageId {
        MessageId::new(self.event_id().child(which))
    }

    fn message_called(&self, queue: &QueueName, which: &str) -> Result<NewMessage, Invalid> {
        let payload =
            serde_json::to_vec(self).map_err(|e| Invalid::Malformed { what: "tick", why: e.to_string() })?;
        let id = self.id_of(which);
        let key = DedupKey::new(&format!("{}{}/{}/{which}", Self::KEYS, self.scheme, self.unique_code()))?;
        Ok(NewMessage::new(id, queue.clone(), Payload::json(payload)).unique_by(key))
    }
}

impl EventId {
    /// The id as a UUID.
    pub fn uuid(self) -> Uuid {
        self.0
    }

    /// The key under which a decision of this event is made known to others: the same in every attempt.
    pub fn decision_key(self, decision: &DecisionName) -> Uuid {
        self.child(&format!("decision\n{decision}"))
    }

    /// The id of the alarm that this event's timeout raises.
    pub fn alarm_id(self) -> Uuid {
        self.child("alarm")
    }

    fn child(self, name: &str) -> Uuid {
        Uuid::new_v5(&self.0, name.as_bytes())
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

const TICK: &str = "tick";
const DEADLINE: &str = "deadline";

/// The namespace of event ids, part of the stored format.
const NAMESPACE: Uuid = Uuid::from_u128(0x7469_6d65_722d_4576_a56e_7400_0000_0001);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Due;

    fn tick(scheme: &str, occurrence: &str) -> Tick {
        Tick { scheme: scheme.parse().unwrap(), occurrence: occurrence.parse().unwrap() }
    }

    #[test]
    fn every_id_is_the_same_each_time_and_different_from_all_others() {
        let one = tick("bill", "2026-01-01T00:00:00Z");
        let (queue, other) = (QueueName::new("timers").unwrap(), QueueName::new("bills").unwrap());
        let all =
            [one.clone(), tick("bill2", "2026-01-01T00:00:00Z"), tick("bill", "2026-01-01T00:00:00.000001Z")]
                .iter()
                .flat_map(|tick| {
                    let event = tick.event_id();
                    let decision = |name: &str| event.decision_key(&name.parse().unwrap());
                    let ids =
                        [event.uuid(), event.alarm_id(), decision("a"), decision("b"), decision("alarm")];
                    let message = tick.message(&queue).unwrap().id.uuid();
                    let deadline = tick.deadline_message(&queue, Duration::from_secs(1)).unwrap().id.uuid();
                    let of_queue = [&queue, &other].map(|it| tick.message_of_queue(it).unwrap().id.uuid());
                    ids.into_iter().chain([message, deadline]).chain(of_queue)
                })
                .collect::<Vec<_>>();
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 27);
        assert_eq!(one.event_id(), tick("bill", "2026-01-01T09:00:00+09:00").event_id());
        assert_eq!(one.event_id().to_string(), "00d39abc-acd2-55cc-a3f6-076fbec0b8c1");
    }

    #[test]
    fn a_tick_is_due_at_its_occurrence_and_reads_back() {
        let one = tick("bill", "2026-01-01T00:00:00Z");
        let queue = QueueName::new("timers").unwrap();
        let message = one.message(&queue).unwrap();
        assert_eq!(message.due, Due::At(one.occurrence));
        assert_eq!(serde_json::from_slice::<Tick>(message.payload.bytes()).unwrap(), one);
        let deadline = one.deadline_message(&queue, Duration::from_secs(300)).unwrap();
        assert_eq!(deadline.due, Due::After(Duration::from_secs(300)));
        assert_eq!(deadline.payload, message.payload);
        assert!(deadline.dedup_key != message.dedup_key && message.dedup_key.is_some());
    }

    #[test]
    fn the_longest_names_fit() {
        let longest = tick(&"s".repeat(SchemeName::MAX_BYTES), &Timestamp::MAX.to_string());
        assert!(longest.message(&QueueName::new("timers").unwrap()).is_ok());
    }
}
