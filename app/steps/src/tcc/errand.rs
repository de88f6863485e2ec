use claimstream_domain::{
    Invalid, MessageId, NewMessage, Payload, QueueName,
    tcc::{Errand, GlobalTransaction},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What an outbox message of a coordinator carries: the whole transaction, so that nothing else has to be found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ErrandMessage {
    pub(super) errand: Errand,
    pub(super) global: GlobalTransaction,
}

impl ErrandMessage {
    /// The message that sends somebody on an errand, due at once.
    pub(super) fn write(
        queue: &QueueName,
        errand: Errand,
        global: &GlobalTransaction,
    ) -> Result<NewMessage, Invalid> {
        let payload = Payload::json(json(&Self { errand, global: global.clone() })?);
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
