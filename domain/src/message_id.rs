use std::{
    fmt,
    hash::{Hash, Hasher},
};

use uuid::Uuid;

/// The identity of a message for its whole life; a UUIDv7 unless the caller has a better one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageId(Uuid);

impl MessageId {
    /// Takes any UUID; version 7 keeps the body table in insertion order.
    pub fn new(id: Uuid) -> Self {
        Self(id)
    }

    /// The id as a UUID.
    pub fn uuid(self) -> Uuid {
        self.0
    }

    /// The sixteen bytes, big-endian, as they are stored.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// A number that is the same for the same message and attempt and different for most others, to draw jitter from.
    pub fn seed(self, attempt: u32) -> u64 {
        let (high, low) = self.0.as_u64_pair();
        high.rotate_left(17) ^ low ^ u64::from(attempt).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Its bytes in one piece, because tables of messages are asked several times for each.
impl Hash for MessageId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.0.as_bytes());
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
