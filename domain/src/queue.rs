use std::{fmt, str::FromStr, sync::Arc};

use crate::Invalid;

/// The name of a queue: 1 to 64 visible ASCII characters, compared byte by byte.
///
/// Blanks and other letters are refused because collations and trailing-space rules of databases would make two
/// different names equal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueName(Arc<str>);

impl QueueName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 64;

    /// Takes a name; refuses one that is empty, too long, or has a blank or a character outside ASCII.
    pub fn new(name: &str) -> Result<Self, Invalid> {
        Invalid::unless_length("queue name", name, Self::MAX_BYTES)?;
        match name.chars().find(|c| !c.is_ascii_graphic()) {
            Some(found) => Err(Invalid::Character {
                what: "queue name",
                found,
                allowed: "use visible ASCII characters without blanks",
            }),
            None => Ok(Self(name.into())),
        }
    }

    /// Takes a name as bytes, as a program of another kind may have written it; refuses also what is no UTF-8.
    pub fn from_bytes(name: &[u8]) -> Result<Self, Invalid> {
        let name = str::from_utf8(name);
        Self::new(name.map_err(|e| Invalid::Malformed { what: "queue name", why: e.to_string() })?)
    }

    /// The name as text that is shared and not copied.
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for QueueName {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        Self::new(name)
    }
}

impl TryFrom<&str> for QueueName {
    type Error = Invalid;

    fn try_from(name: &str) -> Result<Self, Invalid> {
        Self::new(name)
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_empty_long_and_blank_names() {
        assert_eq!(QueueName::new(""), Err(Invalid::Empty { what: "queue name" }));
        assert!(matches!(QueueName::new(&"q".repeat(65)), Err(Invalid::TooLong { len: 65, max: 64, .. })));
        assert!(matches!(QueueName::new("or ders"), Err(Invalid::Character { found: ' ', .. })));
        assert!(matches!(QueueName::new("größe"), Err(Invalid::Character { found: 'ö', .. })));
        assert_eq!(QueueName::new(&"q".repeat(64)).map(|q| q.as_str().len()), Ok(64));
        assert_eq!(QueueName::from_bytes(b"orders"), QueueName::new("orders"));
        assert!(matches!(QueueName::from_bytes(b"\xff"), Err(Invalid::Malformed { .. })));
    }
}
