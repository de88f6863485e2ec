//! What a message carries: its number, and bytes without meaning up to the size that was asked for.

use serde::{Deserialize, Serialize};

/// As bytes: the number, big endian, then the filling.
pub(crate) fn bytes(number: u64, size: usize) -> Vec<u8> {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.resize(size.max(bytes.len()), b'x');
    bytes
}

/// The number in a payload of bytes; a foreign payload counts as a number that nobody sends.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(u64::MAX, |number| u64::from_be_bytes(*number))
}

/// For libraries that insist on JSON, which comes on top of the size: the number takes eight bytes of it.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Json {
    pub(crate) number: u64,
    filling: String,
}

impl Json {
    pub(crate) fn new(number: u64, size: usize) -> Self {
        Self { number, filling: "x".repeat(size.saturating_sub(size_of::<u64>())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_read_back_and_the_size_is_kept() {
        assert_eq!(bytes(7, 500).len(), 500);
        assert_eq!(number(&bytes(7, 500)), 7);
        assert_eq!(number(&bytes(u64::MAX - 1, 0)), u64::MAX - 1);
        assert_eq!(number(b"short"), u64::MAX);
    }
}
