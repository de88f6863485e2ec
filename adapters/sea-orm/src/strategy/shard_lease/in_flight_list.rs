//! The list of messages in flight that a lease row keeps: due time and id of each, 24 bytes, without a separator.

use std::collections::HashSet;

use claimstream_domain::MessageId;

/// The ids of the messages that a lease row lists as in flight.
pub(crate) fn ids(bytes: &[u8]) -> HashSet<MessageId> {
    decode(bytes).into_iter().map(|(_, id)| id).collect()
}

/// The bytes of one message in the list.
const ENTRY: usize = 24;

/// Writes due times and ids as a lease row keeps them.
pub(crate) fn encode(messages: impl Iterator<Item = (i64, MessageId)>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(messages.size_hint().1.unwrap_or_default() * ENTRY);
    for (due, id) in messages {
        bytes.extend(due.to_be_bytes());
        bytes.extend(id.uuid().as_bytes());
    }
    bytes
}

/// Reads due times and ids; an entry that is cut short is left out.
pub(crate) fn decode(bytes: &[u8]) -> Vec<(i64, MessageId)> {
    let (entries, _) = bytes.as_chunks::<ENTRY>();
    entries
        .iter()
        .filter_map(|entry| {
            let due = i64::from_be_bytes(entry[..8].try_into().ok()?);
            Some((due, MessageId::new(uuid::Uuid::from_slice(&entry[8..]).ok()?)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn messages_in_flight_come_back_as_they_were_written() {
        let written: Vec<_> =
            (1..=3_i64).map(|n| (n * 7, MessageId::new(Uuid::from_u128(n as u128)))).collect();
        let bytes = encode(written.iter().copied());
        assert_eq!(bytes.len(), 3 * ENTRY);
        assert_eq!(decode(&bytes), written);
        assert_eq!(ids(&bytes).len(), 3);
        assert_eq!(decode(&[1; 30]).len(), 1);
    }
}
