use claimstream_domain::{
    Invalid, MessageId, NewMessage, Payload, QueueName,
    tcc::{GlobalTransaction, GlobalTrigger},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What an outbox message of a coordinator carries: the whole transaction, so that nothing else has to be found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TriggerMessage {
    /// Its name in stored messages is older than the type's.
    #[serde(rename = "errand")]
    pub(super) trigger: GlobalTrigger,
    pub(super) global: GlobalTransaction,
}

impl TriggerMessage {
    /// The message that makes a coordinator look after `global`, due at once; refuses one that no coordinator could read.
    pub(super) fn write(
        queue: &QueueName,
        trigger: GlobalTrigger,
        global: &GlobalTransaction,
    ) -> Result<NewMessage, Invalid> {
        let payload = Payload::json(json(&Self { trigger, global: global.clone() })?);
        Self::read(&payload).map_err(|why| Invalid::Malformed {
            what: "global transaction",
            why: format!("no message could carry it: {why}; nest the payloads of its branches less deeply"),
        })?;
        Ok(NewMessage::new(MessageId::new(Uuid::now_v7()), queue.clone(), payload))
    }

    pub(super) fn read(payload: &Payload) -> Result<Self, Invalid> {
        serde_json::from_slice(payload.bytes()).map_err(malformed)
    }
}

/// The text of a transaction, which distinguishes it from another of the same id.
pub(super) fn json(value: &impl Serialize) -> Result<Vec<u8>, Invalid> {
    serde_json::to_vec(value).map_err(malformed)
}

fn malformed(error: serde_json::Error) -> Invalid {
    Invalid::Malformed { what: "global transaction", why: error.to_string() }
}
