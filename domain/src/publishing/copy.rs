use uuid::Uuid;

use super::Facts;
use crate::{Fingerprint, Headers, Invalid, Message, MessageId, NewMessage, QueueName, Reason};

/// The header of a copy that holds the id of the message it is a copy of.
const ID: &str = "claimstream-id";
/// The header of a copy that holds the queue of the message it is a copy of.
const QUEUE: &str = "claimstream-queue";

/// Which message a producer wrote: of a copy the one that it is a copy of, otherwise the message itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The id that brokers and consumers know it by.
    pub id: MessageId,
    /// The queue that it was written to.
    pub queue: String,
    /// Its headers.
    pub headers: Headers,
}

impl Origin {
    /// The origin of a message; the reason says what is wrong with a header of ours.
    pub fn of(message: &Message) -> Result<Self, Reason> {
        let (mut id, mut queue) = (message.id, message.queue.as_str().to_owned());
        let Some(copied) = message.headers.get(ID) else {
            return Ok(Self { id, queue, headers: message.headers.clone() });
        };
        let read: Uuid =
            copied.parse().map_err(|_| Reason::new(format_args!("the header {ID} is no UUID")))?;
        id = MessageId::new(read);
        if let Some(copied) = message.headers.get(QUEUE) {
            queue = copied.to_owned();
        }
        Ok(Self { id, queue, headers: message.headers.without(&[ID, QUEUE]) })
    }

    /// What the message fills templates with.
    pub fn facts<'a>(&'a self, message: &'a Message) -> Facts<'a> {
        let key = message.ordering_key.as_ref().map(crate::OrderingKey::as_str);
        Facts { queue: &self.queue, key, id: self.id, headers: &self.headers }
    }
}

/// The copy of a message for another queue, due at once; a copy of a copy is one of the first message.
///
/// The id of the copy is always the same, so a repetition makes no second one. It is larger than that of the message by a number
/// that the queue decides, so copies of messages that become due at the same moment have the order of these messages.
pub fn copy_for(message: &Message, queue: &QueueName) -> Result<NewMessage, Reason> {
    let origin = Origin::of(message)?;
    let marked = |headers: &mut Headers| -> Result<(), Invalid> {
        headers.insert(ID, &origin.id.to_string())?;
        headers.insert(QUEUE, &origin.queue)
    };
    let mut headers = origin.headers.clone();
    marked(&mut headers).map_err(|e| Reason::new(format_args!("the message cannot be copied: {e}")))?;
    let id = Uuid::from_u128(origin.id.uuid().as_u128().wrapping_add(distance(queue)));
    let mut copy = NewMessage::new(MessageId::new(id), queue.clone(), message.payload.clone());
    copy.headers = headers;
    copy.ordering_key = message.ordering_key.clone();
    Ok(copy)
}

/// How much larger the ids of a queue's copies are: 60 bits and not 0, so that a copy's id is that of no other message.
fn distance(queue: &QueueName) -> u128 {
    let hash = Fingerprint::of(&[queue.as_str().as_bytes()]);
    let first = hash.as_bytes().iter().take(8).fold(0, |all, byte| all << 8 | u128::from(*byte));
    (first >> 4) | 1
}

#[cfg(test)]
mod tests {
    //! Promise: consumers of all targets receive the id of the message
    use proptest::prelude::*;

    use super::*;
    use crate::{Payload, Shard};

    fn message(id: u128) -> Message {
        let mut headers = Headers::new();
        headers.insert("region", "eu").unwrap();
        Message {
            id: MessageId::new(Uuid::from_u128(id)),
            queue: QueueName::new("orders").unwrap(),
            shard: Shard::from_number(0),
            ordering_key: "account-7".parse().ok(),
            headers,
            payload: Payload::json("{}"),
        }
    }

    fn copied(message: &Message, queue: &str) -> Message {
        let copy = copy_for(message, &QueueName::new(queue).unwrap()).unwrap();
        let NewMessage { id, queue, ordering_key, headers, payload, .. } = copy;
        Message { id, queue, shard: Shard::from_number(0), ordering_key, headers, payload }
    }

    #[test]
    fn a_copy_knows_what_it_is_a_copy_of() {
        let original = message(7);
        let copy = copied(&original, "orders.audit");
        assert_eq!((&copy.ordering_key, &copy.payload), (&original.ordering_key, &original.payload));
        let origin = Origin::of(&copy).unwrap();
        assert_eq!(origin, Origin::of(&original).unwrap());
        assert_eq!((origin.id, origin.queue.as_str()), (original.id, "orders"));
        assert_eq!(Origin::of(&copied(&copy, "again")).unwrap(), origin);
    }

    #[test]
    fn a_header_that_is_no_id_is_refused_and_one_without_room_too() {
        let mut broken = message(7);
        broken.headers.insert(ID, "seven").unwrap();
        assert!(Origin::of(&broken).unwrap_err().as_str().contains("no UUID"));
        let mut full = message(7);
        full.headers.insert("long", &"x".repeat(Headers::MAX_BYTES - 20)).unwrap();
        let why = copy_for(&full, &full.queue).unwrap_err();
        assert!(why.as_str().starts_with("the message cannot be copied: headers has"), "{why}");
    }

    proptest! {
        #[test]
        fn copies_keep_the_order_of_ids_and_have_ids_of_their_own(one in any::<u64>(), two in any::<u64>(), high in any::<u32>()) {
            let id = |low: u64| u128::from(high) << 64 | u128::from(low);
            let (a, b) = (message(id(one)), message(id(two)));
            let (to_a, to_b) = (copied(&a, "orders.nats"), copied(&b, "orders.nats"));
            prop_assert_eq!(to_a.id.cmp(&to_b.id), a.id.cmp(&b.id));
            prop_assert_eq!(copied(&a, "orders.nats").id, to_a.id);
            prop_assert!(to_a.id != a.id && copied(&a, "orders.redis").id != to_a.id);
        }
    }
}
