use std::{fmt, sync::Arc};

use claimstream_domain::{
    Disposition, Headers, Invalid, Message, MessageId, NewMessage, Payload, QueueName, Receipt, Settlement,
    Verdict,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Says that a message has become a dead letter.
///
/// As JSON it is the message that goes into [`RelayConfig::dead_letter_events`](crate::config::RelayConfig::dead_letter_events) in
/// the transaction that buries; as a value it is what [`Relay::on_dead_letter`](crate::relay::Relay::on_dead_letter) hands out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeadLetterEvent {
    /// The message's id, by which it is listed and revived.
    pub message: Uuid,
    /// Its queue.
    pub queue: String,
    /// How often it was tried.
    pub attempts: u32,
    /// What kind of error it was given up for.
    pub class: DeadLetterClass,
    /// Why, as it stands with the dead letter.
    pub reason: String,
}

/// The header that marks such a message.
const HEADER: &str = "claimstream-event";

/// What kind of error a message was given up for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeadLetterClass {
    /// The handler said so.
    Buried,
    /// Its last attempt failed.
    Failed,
    /// Its last attempt ended in a panic.
    Panicked,
    /// Its last attempt took longer than the handler's time limit.
    TimedOut,
    /// Its attempts are used up, and the last one never ended: it may end every process that handles it.
    NeverEnded,
    /// It was handled, and the store refused its children for good.
    ChildrenRefused,
}

/// The attempt that a settlement ends, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempted {
    /// Its number.
    pub(crate) attempt: u32,
    /// The class of its message if it becomes a dead letter.
    pub(crate) class: DeadLetterClass,
    /// Its message is an event of a dead letter itself, which has no event: relays that read each other's events would go on
    /// telling each other for ever.
    pub(crate) is_event: bool,
}

/// The function that is called with each dead letter.
pub(crate) type Hook = Arc<dyn Fn(&DeadLetterEvent) + Send + Sync>;

impl DeadLetterEvent {
    /// The event of a settlement that buries; `None` if it does something else.
    pub(crate) fn of(settlement: &Settlement, attempted: Attempted) -> Option<Self> {
        let Settlement { receipt, disposition } = settlement;
        let Disposition::Dead { reason, .. } = disposition else { return None };
        Some(Self {
            message: receipt.message.uuid(),
            queue: receipt.queue.to_string(),
            attempts: attempted.attempt,
            class: attempted.class,
            reason: reason.as_str().into(),
        })
    }

    /// The message that carries it. A burial that is repeated writes the same one, and a later burial of the same message
    /// another one.
    pub(crate) fn message(&self, receipt: &Receipt, queue: &QueueName) -> Result<NewMessage, Invalid> {
        let json = serde_json::to_vec(self);
        let json = json.map_err(|e| Invalid::Malformed { what: "dead letter event", why: e.to_string() })?;
        let id = Uuid::new_v5(&self.message, receipt.claim.uuid().as_bytes());
        let mut headers = Headers::new();
        headers.insert(HEADER, "dead-letter")?;
        Ok(NewMessage::new(MessageId::new(id), queue.clone(), Payload::json(json)).with_headers(headers))
    }

    /// Whether a message carries one.
    pub(crate) fn is_in(message: &Message) -> bool {
        message.headers.get(HEADER) == Some("dead-letter")
    }
}

impl DeadLetterClass {
    /// The class of a message that a verdict of its handler has made a dead letter.
    pub(crate) fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Bury { .. } => Self::Buried,
            Verdict::Ack { .. } | Verdict::Nack { .. } | Verdict::Postpone { .. } | Verdict::Release => {
                Self::Failed
            }
        }
    }
}

impl fmt::Display for DeadLetterClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Buried => "buried",
            Self::Failed => "failed",
            Self::Panicked => "panicked",
            Self::TimedOut => "timed_out",
            Self::NeverEnded => "never_ended",
            Self::ChildrenRefused => "children_refused",
        })
    }
}
