use claimstream_domain::{Publication, Received};
use rdkafka::{
    Message,
    message::{BorrowedMessage, Header, Headers, OwnedHeaders},
    producer::FutureRecord,
};

use crate::parts::{Names, ReceivedParts};

/// The header that holds the message's id.
const ID: &str = "message-id";
/// The header that says how to read the body.
const CONTENT_TYPE: &str = "content-type";
/// What the name of an attribute of a CloudEvent begins with.
const ATTRIBUTE: &str = "ce_";
/// The attribute that travels as the header `content-type`.
const DATA_CONTENT_TYPE: &str = "datacontenttype";

/// The longest name of a topic, in bytes.
const LONGEST_TOPIC: usize = 249;

/// A publication as a record.
pub(super) fn record(publication: &Publication) -> FutureRecord<'_, str, [u8]> {
    let record = FutureRecord::to(&publication.place).payload(publication.body.bytes());
    let record = record.headers(headers(publication));
    match &publication.key {
        Some(key) => record.key(key.as_str()),
        None => record,
    }
}

fn headers(publication: &Publication) -> OwnedHeaders {
    let id = publication.id.to_string();
    let mut headers = OwnedHeaders::new();
    let mut set = |key: &str, value: &str| {
        headers = std::mem::take(&mut headers).insert(Header { key, value: Some(value) });
    };
    publication.headers.iter().for_each(|(name, value)| set(name, value));
    set(ID, &id);
    set(CONTENT_TYPE, publication.body.content_type());
    let attributes = publication.attributes.iter().filter(|(name, _)| name != DATA_CONTENT_TYPE);
    attributes.for_each(|(name, value)| set(&format!("{ATTRIBUTE}{name}"), value));
    headers
}

/// A record of a topic. A tombstone of another sender has an empty body.
pub(super) fn received(record: &BorrowedMessage<'_>) -> Received {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut parts = ReceivedParts { key: record.key().map(text), ..ReceivedParts::default() };
    for header in record.headers().into_iter().flat_map(Headers::iter) {
        parts.take(&NAMES, header.key, header.value.map(text).unwrap_or_default());
    }
    parts.received(record.topic(), record.payload().unwrap_or_default().to_vec())
}

/// The key is that of the record.
const NAMES: Names =
    Names { id: ID, key: "", content_type: CONTENT_TYPE, prefixes: &[ATTRIBUTE], header: "" };

/// Why no topic can have this name, if so.
pub(super) fn fault_of_topic(topic: &str) -> Option<&'static str> {
    if topic.is_empty() || topic == "." || topic == ".." {
        return Some("a topic needs a name");
    }
    if topic.len() > LONGEST_TOPIC {
        return Some("it is longer than 249 bytes");
    }
    let is_odd = |c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c);
    topic.contains(is_odd).then_some("use letters, digits, '.', '_' and '-'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_has_letters_digits_dots_and_dashes() {
        assert_eq!(fault_of_topic("orders.placed_v2-eu"), None);
        for bad in ["", ".", "..", "orders/placed", "größe", "a b", &"x".repeat(250)] {
            assert!(fault_of_topic(bad).is_some(), "{bad:?}");
        }
    }
}
