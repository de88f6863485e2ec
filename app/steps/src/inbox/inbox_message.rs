use claimstream_domain::{Claimed, Fingerprint, Invalid, Message, Payload, step::StepKey};

use super::Consumer;

/// What came: the id by which it is known again, and the fingerprint of what it said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InboxMessage {
    pub(super) id: Box<str>,
    pub(super) fingerprint: Fingerprint,
}

impl InboxMessage {
    /// Something from elsewhere, by the id that its sender gave it, of 1 to 255 bytes.
    pub fn new(id: impl Into<Box<str>>, payload: &Payload) -> Self {
        Self { id: id.into(), fingerprint: Fingerprint::of_payload(payload) }
    }

    /// The key of its step.
    pub(super) fn key(&self, consumer: &Consumer) -> Result<StepKey, Invalid> {
        StepKey::new(consumer.scope(), &self.id, "")
    }
}

impl From<&Message> for InboxMessage {
    fn from(message: &Message) -> Self {
        Self::new(message.id.to_string(), &message.payload)
    }
}

impl From<&claimstream_domain::Received> for InboxMessage {
    fn from(received: &claimstream_domain::Received) -> Self {
        Self::new(received.id.as_str(), &received.body)
    }
}

impl From<&Claimed> for InboxMessage {
    fn from(claimed: &Claimed) -> Self {
        Self::from(&claimed.message)
    }
}
