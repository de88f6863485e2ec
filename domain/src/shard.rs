use crate::{Invalid, MessageId, OrderingKey};

/// One slice of a queue; instances that work on different shards never meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Shard(u16);

impl Shard {
    /// The shard with this number, as a store read it back.
    pub fn from_number(number: u16) -> Self {
        Self(number)
    }

    /// The shard's number, counted from 0.
    pub fn number(self) -> u16 {
        self.0
    }
}

/// Into how many shards each queue of a database is cut: 1 to 256. It is chosen when the schema is made, and can be [multiplied](crate::Resharding) later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShardCount(u16);

impl ShardCount {
    /// The most shards a queue may have.
    pub const MAX: u16 = 256;

    /// Takes a count; refuses zero and more than [`MAX`](Self::MAX).
    pub fn new(count: u16) -> Result<Self, Invalid> {
        if (1..=Self::MAX).contains(&count) {
            return Ok(Self(count));
        }
        Err(Invalid::OutOfRange {
            what: "shard count",
            given: count.to_string(),
            allowed: format!("1 to {}", Self::MAX),
        })
    }

    /// The count.
    pub fn get(self) -> u16 {
        self.0
    }

    /// Every shard.
    pub fn shards(self) -> impl Iterator<Item = Shard> {
        (0..self.0).map(Shard)
    }

    /// The shard of a message: by its ordering key if it has one, else by its id.
    ///
    /// The answer is part of the stored format: it is FNV-1a over the bytes, folded, modulo the count, and must never
    /// change.
    pub fn shard_of(self, id: MessageId, key: Option<&OrderingKey>) -> Shard {
        match key {
            Some(key) => self.shard_of_bytes(key.as_str().as_bytes()),
            None => self.shard_of_bytes(id.as_bytes()),
        }
    }

    /// The shard of an ordering key, or of an id without one, by its bytes.
    pub fn shard_of_bytes(self, bytes: &[u8]) -> Shard {
        let hash = fnv1a(bytes);
        let folded = (hash >> 32) ^ (hash & 0xffff_ffff);
        Shard((folded % u64::from(self.0)) as u16)
    }
}

impl Default for ShardCount {
    fn default() -> Self {
        Self(16)
    }
}

/// The 64-bit FNV-1a hash (Fowler, Noll, Vo; IETF draft-eastlake-fnv).
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_key_decides_alone_and_ids_spread() {
        let shards = ShardCount::new(16).unwrap();
        let key = OrderingKey::new("account-7").unwrap();
        let id = |n: u128| MessageId::new(Uuid::from_u128((n << 64) | (n * 7919)));
        let by_key: Vec<_> = (1..50).map(|n| shards.shard_of(id(n), Some(&key))).collect();
        assert!(by_key.windows(2).all(|pair| pair[0] == pair[1]));
        let mut seen: Vec<_> = (1..200).map(|n| shards.shard_of(id(n), None)).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 16);
    }

    #[test]
    fn refuses_no_shard_and_too_many() {
        assert!(ShardCount::new(0).is_err());
        assert!(ShardCount::new(257).is_err());
    }
}
