use async_nats::{HeaderMap, jetstream::message::PublishMessage};
use claimstream_domain::Publication;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

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
    set(CONTENT_TYPE, publication.body.content_type());
    if let Some(key) = &publication.key {
        set(KEY, &encoded(key.as_str()));
    }
    for (name, value) in &publication.attributes {
        set(&format!("{ATTRIBUTE}{name}"), &encoded(value));
    }
    let body = publication.body.bytes().to_vec().into();
    PublishMessage::build().headers(headers).message_id(publication.id.to_string()).payload(body)
}

fn encoded(value: &str) -> String {
    utf8_percent_encode(value, ENCODED).to_string()
}

/// Why nothing can be published under a subject, if so.
pub(super) fn fault_of_subject(subject: &str) -> Option<&'static str> {
    if subject.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Some("it has a blank or a control character");
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
        for good in ["orders", "orders.eu.paid", "a*b", "größe"] {
            assert_eq!(fault_of_subject(good), None, "{good}");
        }
        for bad in ["", ".", "a..b", "a.", "a b", "a\tb", "a.*", ">", "a\u{7}"] {
            assert!(fault_of_subject(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn values_are_encoded_as_the_binding_says() {
        assert_eq!(encoded("a b/ü%\"\n"), "a%20b/%C3%BC%25%22%0A");
        assert_eq!(encoded("2026-11-25T16:00:00Z"), "2026-11-25T16:00:00Z");
    }
}
