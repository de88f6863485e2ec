use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, Hasher, RandomState},
    sync::LazyLock,
};

use claimstream_domain::MessageId;

/// Something for each message, found by its id.
pub(crate) type ById<T> = HashMap<MessageId, T, IdHashing>;

/// A set of messages.
pub(crate) type Ids = HashSet<MessageId, IdHashing>;

/// Hashes ids at a tenth of what the standard hasher takes for sixteen bytes: a message is looked up about ten times between its claim
/// and its settlement. Each process has a seed of its own, so that no caller can choose ids that all fall into one place.
#[derive(Clone, Copy)]
pub(crate) struct IdHashing(u64);

/// The state of one hash.
pub(crate) struct IdHasher(u64);

impl Default for IdHashing {
    fn default() -> Self {
        static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("ids of messages"));
        Self(*SEED)
    }
}

impl BuildHasher for IdHashing {
    type Hasher = IdHasher;

    fn build_hasher(&self) -> IdHasher {
        IdHasher(self.0)
    }
}

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        rest.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// What a table asks of a hash: its lowest bits choose the place, and its highest seven distinguish neighbours.
    #[test]
    fn ids_that_differ_little_are_spread() {
        let hashing = IdHashing::default();
        let places = |shift: u32| {
            let ids = (0..1024_u128).map(|n| MessageId::new(Uuid::from_u128(n << shift)));
            let hashes: Vec<_> = ids.map(|id| hashing.hash_one(id)).collect();
            let low: HashSet<_> = hashes.iter().map(|hash| hash % 1024).collect();
            let high: HashSet<_> = hashes.iter().map(|hash| hash >> 57).collect();
            (low.len(), high.len())
        };
        for shift in [0, 20, 54, 64, 100, 118] {
            let (low, high) = places(shift);
            // 1,024 random numbers meet about 647 of 1,024 places, and nearly all of 128.
            assert!(low > 560 && high > 100, "{low} and {high} places, shifted by {shift}");
        }
    }
}
