use serde::{Deserialize, Serialize};

use super::{SagaEntry, SagaId};
use crate::{Invalid, MessageId, NewMessage, Payload, QueueName};

/// What an outbox message asks to be done with a saga; it carries all that is needed to begin one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SagaOrder {
    /// The saga that is asked for.
    pub order: SagaOrderKind,
    /// The saga.
    pub saga: SagaId,
    /// The owner that asked for it.
    pub owner: String,
    /// What it is about, as its steps read it.
    pub input: serde_json::Value,
}

/// What can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SagaOrderKind {
    /// Run it; `newTransfer` of other systems.
    New,
    /// See that it comes to an end; `checkTransfer` of other systems.
    Check,
    /// Call it off and undo it; `toRollback` of other systems.
    RollBack,
}

impl SagaOrder {
    /// The message that carries it, due at once; its id is the same however often the same thing is asked of a saga. The queue's name
    /// is the saga's scope.
    pub fn message(&self, queue: QueueName) -> Result<NewMessage, Invalid> {
        let text = serde_json::to_vec(self);
        let text = text.map_err(|e| Invalid::Malformed { what: "saga order", why: e.to_string() })?;
        Ok(NewMessage::new(self.order.message_id(queue.as_str(), self.saga), queue, Payload::json(text)))
    }
}

impl SagaOrderKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::New, Self::Check, Self::RollBack];

    /// The id of the message that asks this of a saga of a kind, which its scope names.
    pub fn message_id(self, scope: &str, saga: SagaId) -> MessageId {
        saga.message_id(scope, self.name())
    }

    /// Its name in messages and traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Check => "check",
            Self::RollBack => "roll_back",
        }
    }

    /// Why the handler of the message looks at the saga.
    pub fn entry(self) -> SagaEntry {
        match self {
            Self::New => SagaEntry::Start,
            Self::Check => SagaEntry::Check,
            Self::RollBack => SagaEntry::RollBack,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn orders_read_back_and_each_has_one_id() {
        let order = |order| SagaOrder {
            order,
            saga: SagaId::new(Uuid::from_u128(7)),
            owner: "anna".into(),
            input: serde_json::json!({"amount": 1000}),
        };
        let message = |kind| order(kind).message(QueueName::new("transfers").unwrap()).unwrap();
        let kinds = [SagaOrderKind::New, SagaOrderKind::Check, SagaOrderKind::RollBack];
        for kind in kinds {
            let read: SagaOrder = serde_json::from_slice(message(kind).payload.bytes()).unwrap();
            assert_eq!(read, order(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        let ids = kinds.map(|kind| message(kind).id);
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
        assert_eq!(ids[1], message(SagaOrderKind::Check).id);
        let of_another_kind =
            order(SagaOrderKind::Check).message(QueueName::new("refunds").unwrap()).unwrap();
        assert_ne!(ids[1], of_another_kind.id);
    }
}
