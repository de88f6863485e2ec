use std::time::Duration;

use crate::{DedupKey, Headers, MessageId, OrderingKey, Payload, QueueName, Shard, Timestamp};

/// A message that is about to be enqueued in the caller's transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewMessage {
    /// Made by the client before anything is sent, so that an enqueue of unknown outcome can be repeated.
    pub id: MessageId,
    /// Where it goes.
    pub queue: QueueName,
    /// What it must stay together with.
    pub ordering_key: Option<OrderingKey>,
    /// What it is unique by within its queue.
    pub dedup_key: Option<DedupKey>,
    /// What travels with the payload.
    pub headers: Headers,
    /// What it carries.
    pub payload: Payload,
    /// When it may first be claimed.
    pub due: Due,
}

impl NewMessage {
    /// A message that is due at once, without keys or headers.
    pub fn new(id: MessageId, queue: QueueName, payload: Payload) -> Self {
        Self {
            id,
            queue,
            ordering_key: None,
            dedup_key: None,
            headers: Headers::new(),
            payload,
            due: Due::Now,
        }
    }

    /// Keeps it together with all other messages of `key`; text becomes one by `"account-7".parse()?`.
    pub fn ordered_by(mut self, key: OrderingKey) -> Self {
        self.ordering_key = Some(key);
        self
    }

    /// Makes it unique within its queue by `key`; text becomes one by `"order-7".parse()?`.
    ///
    /// ```
    /// # use claimstream_domain::{MessageId, NewMessage, Payload};
    /// # fn paid(message: NewMessage) -> Result<NewMessage, claimstream_domain::Invalid> {
    /// Ok(message.unique_by("order-7".parse()?))
    /// # }
    /// ```
    pub fn unique_by(mut self, key: DedupKey) -> Self {
        self.dedup_key = Some(key);
        self
    }

    /// Adds headers to the payload.
    pub fn with_headers(mut self, headers: Headers) -> Self {
        self.headers = headers;
        self
    }

    /// Hides it until `delay` has passed on the database's clock; a delay longer than [`Due::MAX_DELAY`] is cut to it.
    pub fn deliver_after(mut self, delay: Duration) -> Self {
        self.due = Due::After(delay.min(Due::MAX_DELAY));
        self
    }

    /// Hides it until the moment `at`.
    pub fn deliver_at(mut self, at: Timestamp) -> Self {
        self.due = Due::At(at);
        self
    }
}

/// A message that has been claimed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The id it was enqueued with.
    pub id: MessageId,
    /// The queue it came from.
    pub queue: QueueName,
    /// The shard it lies in.
    pub shard: Shard,
    /// What it must stay together with.
    pub ordering_key: Option<OrderingKey>,
    /// What travels with the payload.
    pub headers: Headers,
    /// What it carries.
    pub payload: Payload,
}

/// When a message may first be claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Due {
    /// As soon as its transaction has committed.
    #[default]
    Now,
    /// This long after the database took it in.
    After(Duration),
    /// At a moment the user chose.
    At(Timestamp),
}

impl Due {
    /// The longest delay, a hundred years: no sum of it and a clock's time is more than a store can hold.
    pub const MAX_DELAY: Duration = Duration::from_secs(100 * 365 * 86_400);
}

/// What became of one enqueued message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enqueued {
    /// It is in the outbox once the caller commits.
    New,
    /// Its dedup key is taken in its queue; nothing was inserted.
    Duplicate,
}

/// The one rule that says whether a message may be claimed: its time has come.
///
/// New, retried, delayed, scheduled and crashed messages differ only in how `available_at` was set. Both arguments are
/// read from the same clock, in any one unit.
pub fn is_due<T: PartialOrd>(available_at: T, now: T) -> bool {
    available_at <= now
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn no_delay_is_longer_than_a_hundred_years() {
        let (id, queue) = (MessageId::new(Uuid::nil()), QueueName::new("orders").unwrap());
        let message = || NewMessage::new(id, queue.clone(), Payload::json("{}"));
        let hour = Duration::from_secs(3600);
        assert_eq!(message().deliver_after(hour).due, Due::After(hour));
        assert_eq!(message().deliver_after(Duration::MAX).due, Due::After(Due::MAX_DELAY));
    }
}
