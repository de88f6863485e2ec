use std::borrow::Cow;

use crate::Invalid;

/// What a message carries: bytes that the outbox does not read, and the content type that says how to read them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payload {
    content_type: Cow<'static, str>,
    bytes: Vec<u8>,
}

impl Payload {
    /// The longest content type, in bytes.
    pub const MAX_CONTENT_TYPE_BYTES: usize = 127;

    /// Takes bytes and a content type such as `application/json`; refuses one that is empty, too long or not printable ASCII.
    pub fn new(content_type: &str, bytes: Vec<u8>) -> Result<Self, Invalid> {
        Invalid::unless_length("content type", content_type, Self::MAX_CONTENT_TYPE_BYTES)?;
        match content_type.chars().find(|c| !c.is_ascii() || c.is_ascii_control()) {
            Some(found) => {
                Err(Invalid::Character { what: "content type", found, allowed: "use printable ASCII" })
            }
            None => Ok(Self { content_type: kept(content_type), bytes }),
        }
    }

    /// JSON text that the caller has already written.
    pub fn json(text: impl Into<Vec<u8>>) -> Self {
        Self { content_type: Cow::Borrowed(JSON), bytes: text.into() }
    }

    /// How to read the bytes.
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, taken out.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

const JSON: &str = "application/json";

/// The content types that most messages have need no memory of their own.
fn kept(content_type: &str) -> Cow<'static, str> {
    match [JSON, "application/octet-stream", "text/plain"].into_iter().find(|known| *known == content_type) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(content_type.to_owned()),
    }
}

/// The largest payload a store takes, in bytes: its server's packet limit minus a margin for the statement around it.
///
/// A server answers an oversized packet by cutting the connection, which looks like a network fault and would be
/// retried for ever, so the size is checked before anything is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PayloadLimit(usize);

impl PayloadLimit {
    /// Room kept for the statement, the keys and the headers of a message.
    pub const MARGIN: usize = 64 * 1024;

    /// The limit of a server that takes packets of `packet` bytes.
    pub fn for_packet(packet: usize) -> Self {
        Self(packet.saturating_sub(Self::MARGIN))
    }

    /// This limit, or `bytes` if that is less.
    pub fn lowered_to(self, bytes: Option<usize>) -> Self {
        bytes.map_or(self, |bytes| Self(self.0.min(bytes)))
    }

    /// The limit in bytes.
    pub fn bytes(self) -> usize {
        self.0
    }

    /// Refuses a payload that is larger than the limit.
    pub fn check(self, payload: &Payload) -> Result<(), Invalid> {
        match payload.bytes().len() {
            len if len > self.0 => Err(Invalid::TooLong { what: "payload", len, max: self.0 }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_payload_over_the_packet_limit_minus_the_margin() {
        let limit = PayloadLimit::for_packet(PayloadLimit::MARGIN + 10);
        let of = |n| Payload::new("text/plain", vec![0; n]).unwrap();
        assert_eq!(limit.check(&of(10)), Ok(()));
        assert_eq!(limit.check(&of(11)), Err(Invalid::TooLong { what: "payload", len: 11, max: 10 }));
        assert_eq!(PayloadLimit::for_packet(1).bytes(), 0);
    }

    #[test]
    fn refuses_a_content_type_that_a_header_could_not_carry() {
        assert!(Payload::new("text/plain\r\nx: y", vec![]).is_err());
        assert!(Payload::new("", vec![]).is_err());
    }
}
