use async_nats::{HeaderMap, jetstream::message::PublishMessage};
use claimstream_domain::{Publication, Received};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::parts::{Names, ReceivedParts};

/// The header that holds the id of the message.
pub(super) const ID: &str = "claimstream-id";
/// The header that holds the ordering key.
pub(super) const KEY: &str = "claimstream-key";
/// The header that says how to read the body.
pub(super) const CONTENT_TYPE: &str = "content-type";
/// What the name of an attribute of a CloudEvent begins with.
pub(super) const ATTRIBUTE: &str = "ce-";

/// What a value of CloudEvents is not to hold in a header.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%');

/// A publication as a message of JetStream.
pub(super) fn message(publication: &Publication) -> PublishMessage {
    let mut headers = HeaderMap::new();
    let mut set = |name: &str, value: &str| headers.insert(name, value);
    publication.headers.iter().for_each(|(name, value)| set(name, value));
    set(ID, &publication.id.to_string());
    set(CONTENT_TYPE, publication.body.content_type());
    if let Some(key) = &publication.key {
        set(KEY, &encoded(key.as_str()));
    }
    for (name, value) in &publication.attributes {
        set(&format!("{ATTRIBUTE}{name}"), &encoded(value));
    }
    let body = publication.body.bytes().to_vec().into();
    PublishMessage::build().headers(headers).message_id(repetition_id(publication)).payload(body)
}

/// By what a stream knows a repetition: the message at its subject, since one stream may take several subjects that a message goes to.
fn repetition_id(publication: &Publication) -> String {
    format!("{}@{}", publication.id, encoded(&publication.place))
}

fn encoded(value: &str) -> String {
    utf8_percent_encode(value, ENCODED).to_string()
}

/// A message that came at this subject.
pub(super) fn received(subject: &str, headers: Option<&HeaderMap>, body: Vec<u8>) -> Received {
    let (mut parts, mut repetition) = (ReceivedParts::default(), None);
    for (name, values) in headers.into_iter().flat_map(HeaderMap::iter) {
        let name: &str = name.as_ref();
        let is_encoded = name == KEY || name.starts_with(ATTRIBUTE);
        if let Some(value) = values.first() {
            let value = value.as_str();
            if name.eq_ignore_ascii_case("Nats-Msg-Id") {
                repetition = Some(value.to_owned());
                continue;
            }
            parts.take(&NAMES, name, if is_encoded { decoded(value) } else { value.to_owned() });
        }
    }
    // What another sender published has no id of ours.
    if parts.id.is_empty() {
        parts.id = repetition.unwrap_or_default();
    }
    parts.received(subject, body)
}

const NAMES: Names =
    Names { id: ID, key: KEY, content_type: CONTENT_TYPE, prefixes: &[ATTRIBUTE], header: "" };

fn decoded(value: &str) -> String {
    percent_decode_str(value).decode_utf8_lossy().into_owned()
}

/// The longest subject, in bytes: a server closes the connection at a line of 4 KiB, and with it cuts off all other messages.
const LONGEST_SUBJECT: usize = 1024;

/// Why nothing can be published under a subject, if so.
///
/// Subjects that begin with `$` are commands of the server and of JetStream, and those of `_INBOX` are answers to other clients. A subject
/// may be made of what a message carries, so none of them is ever published to.
pub(super) fn fault_of_subject(subject: &str) -> Option<&'static str> {
    if subject.len() > LONGEST_SUBJECT {
        return Some("it is longer than 1 KiB");
    }
    if subject.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Some("it has a blank or a control character");
    }
    if subject.starts_with('$') || subject.split('.').next() == Some("_INBOX") {
        return Some("it belongs to the server");
    }
    subject.split('.').find_map(|token| match token {
        "" => Some("a part between its dots is empty"),
        "*" | ">" => Some("it has a wildcard"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_has_parts_without_blanks_and_wildcards() {
        for good in ["orders", "orders.eu.paid", "a*b", "größe", "_INBOXES", "a.$JS"] {
            assert_eq!(fault_of_subject(good), None, "{good}");
        }
        for bad in ["$JS.API.STREAM.DELETE.orders", "$SYS.REQ.SERVER.PING", "$KV.a.b", "_INBOX", "_INBOX.a"] {
            assert_eq!(fault_of_subject(bad), Some("it belongs to the server"), "{bad}");
        }
        for bad in ["", ".", "a..b", "a.", "a b", "a\tb", "a.*", ">", "a\u{7}"] {
            assert!(fault_of_subject(bad).is_some(), "{bad:?}");
        }
        assert!(fault_of_subject(&"a".repeat(LONGEST_SUBJECT)).is_none());
        assert!(fault_of_subject(&"a".repeat(LONGEST_SUBJECT + 1)).is_some());
    }

    #[test]
    fn values_are_encoded_as_the_binding_says() {
        assert_eq!(encoded("a b/ü%\"\n"), "a%20b/%C3%BC%25%22%0A");
        assert_eq!(encoded("2026-11-25T16:00:00Z"), "2026-11-25T16:00:00Z");
    }
}
