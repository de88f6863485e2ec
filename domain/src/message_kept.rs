use std::time::Duration;

use crate::{Headers, MessageId, OrderingKey, Payload, QueueName, Shard};

/// What a store keeps of a message apart from its place in the queue, without its payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageKept {
    /// The message.
    pub id: MessageId,
    /// Its queue.
    pub queue: QueueName,
    /// The shard it lies in, or lay in.
    pub shard: Shard,
    /// What it must stay together with.
    pub ordering_key: Option<OrderingKey>,
    /// The content type of its payload.
    pub content_type: String,
    /// The size of its payload, in bytes.
    pub bytes: u64,
    /// How long ago it was stored; of a message that was revived, how long ago that was.
    pub stored: Duration,
    /// How long ago it was stored first, if it was revived since.
    pub first_stored: Option<Duration>,
    /// The W3C trace context of its producer, from its headers.
    pub traceparent: Option<String>,
}

/// What a message carries: what it says, and may say about people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageCarried {
    /// What travels with the payload.
    pub headers: Headers,
    /// The payload.
    pub payload: Payload,
}

/// A dedup key that a message has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DedupKeyTaken {
    /// The message; it may be finished, because keys are kept for longer.
    pub by: MessageId,
    /// How long ago that was.
    pub ago: Duration,
}
