use std::fmt;

use sha2::{Digest, Sha256};

use crate::{Invalid, Payload};

/// Identifies a content: SHA-256 of its parts, each with its length, so that parts cannot run into each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; Self::BYTES]);

impl Fingerprint {
    /// How many bytes it has.
    pub const BYTES: usize = 32;

    /// The fingerprint of some parts in their order.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Self(digest.finalize().into())
    }

    /// The fingerprint of a payload: its bytes and what they are.
    pub fn of_payload(payload: &Payload) -> Self {
        Self::of(&[payload.content_type().as_bytes(), payload.bytes()])
    }

    /// The fingerprint of what a value is as JSON, its fields in their order.
    pub fn of_json(value: &impl serde::Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(json) => Self::of(&[&json]),
            // A map whose keys are no texts: no type here has one.
            Err(error) => Self::of(&[error.to_string().as_bytes()]),
        }
    }

    /// A fingerprint that was stored.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, Invalid> {
        let exact = bytes.try_into().map_err(|_| Invalid::OutOfRange {
            what: "fingerprint",
            given: format!("{} bytes", bytes.len()),
            allowed: format!("{} bytes", Self::BYTES),
        });
        exact.map(Self)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "Fingerprint({a:02x}{b:02x}{c:02x}{d:02x}..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_eq!(Fingerprint::of(&[b"ab", b"c"]), Fingerprint::of(&[b"ab", b"c"]));
        assert_ne!(Fingerprint::of(&[b"ab", b"c"]), Fingerprint::of(&[b"a", b"bc"]));
        assert_ne!(Fingerprint::of(&[b"ab"]), Fingerprint::of(&[b"ab", b""]));
    }

    #[test]
    fn is_read_as_it_is_stored() {
        let one = Fingerprint::of_payload(&Payload::json("{}"));
        assert_eq!(Fingerprint::from_slice(one.as_bytes()), Ok(one));
        assert!(Fingerprint::from_slice(&[0; 31]).is_err());
    }
}
