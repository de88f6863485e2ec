use claimstream_domain::{Invalid, MessageId, NewMessage, Payload, QueueName};
use serde::Serialize;
use uuid::Uuid;

use crate::error::RelayError;

/// Writes new messages with a fresh id, a UUIDv7, so that one line is enough where they are enqueued.
///
/// ```
/// use claimstream::{Compose, NewMessage};
///
/// #[derive(serde::Serialize)]
/// struct OrderPaid { order: u64 }
///
/// let paid = NewMessage::json("orders", &OrderPaid { order: 7 })?;
/// assert_eq!(paid.payload.bytes(), br#"{"order":7}"#);
/// # Ok::<(), claimstream::RelayError>(())
/// ```
pub trait Compose: Sized {
    /// A message for `queue` that carries `value` as JSON; refused if the value cannot be written as JSON or the queue's
    /// name is none.
    fn json<Q, V>(queue: Q, value: &V) -> Result<Self, RelayError>
    where
        Q: TryInto<QueueName>,
        RelayError: From<Q::Error>,
        V: Serialize + ?Sized;

    /// A message for `queue` that carries `bytes`, to be read as `content_type`; refused if either name is none.
    fn bytes<Q>(queue: Q, content_type: &str, bytes: impl Into<Vec<u8>>) -> Result<Self, RelayError>
    where
        Q: TryInto<QueueName>,
        RelayError: From<Q::Error>;
}

impl Compose for NewMessage {
    fn json<Q, V>(queue: Q, value: &V) -> Result<Self, RelayError>
    where
        Q: TryInto<QueueName>,
        RelayError: From<Q::Error>,
        V: Serialize + ?Sized,
    {
        let text = serde_json::to_vec(value)
            .map_err(|e| Invalid::Malformed { what: "payload", why: e.to_string() })?;
        Ok(Self::new(fresh_id(), queue.try_into()?, Payload::json(text)))
    }

    fn bytes<Q>(queue: Q, content_type: &str, bytes: impl Into<Vec<u8>>) -> Result<Self, RelayError>
    where
        Q: TryInto<QueueName>,
        RelayError: From<Q::Error>,
    {
        Ok(Self::new(fresh_id(), queue.try_into()?, Payload::new(content_type, bytes.into())?))
    }
}

fn fresh_id() -> MessageId {
    MessageId::new(Uuid::now_v7())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn ids_are_fresh_and_in_order() {
        let one = NewMessage::json("orders", &1).unwrap();
        let two = NewMessage::bytes(one.queue.clone(), "text/plain", "2").unwrap();
        assert!(one.id < two.id);
        assert_eq!(two.payload.content_type(), "text/plain");
    }

    #[test]
    fn refuses_what_is_no_queue_and_what_is_no_json() {
        assert!(matches!(NewMessage::json("or ders", &1), Err(RelayError::Invalid(_))));
        assert!(matches!(NewMessage::bytes("orders", "", "x"), Err(RelayError::Invalid(_))));
        let keyed_by_list = HashMap::from([(vec![1], 1)]);
        let refused = NewMessage::json("orders", &keyed_by_list);
        assert!(matches!(refused, Err(RelayError::Invalid(Invalid::Malformed { what: "payload", .. }))));
    }
}
