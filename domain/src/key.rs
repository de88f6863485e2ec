use std::{fmt, str::FromStr, sync::Arc};

use crate::Invalid;

macro_rules! key {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The longest key, in bytes.
            pub const MAX_BYTES: usize = 255;

            /// Takes a key; refuses one that is empty or longer than 255 bytes.
            pub fn new(key: &str) -> Result<Self, Invalid> {
                Invalid::unless_length($what, key, Self::MAX_BYTES)?;
                Ok(Self(key.into()))
            }

            /// The key as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(key: &str) -> Result<Self, Invalid> {
                Self::new(key)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = Invalid;

            fn try_from(key: &str) -> Result<Self, Invalid> {
                Self::new(key)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Invalid;

            fn try_from(key: String) -> Result<Self, Invalid> {
                Self::new(&key)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

key! {
    /// What messages must stay together by: all messages of one ordering key fall into one shard.
    OrderingKey, "ordering key"
}

key! {
    /// What a message is unique by within its queue: a second message with the same key is not taken in.
    DedupKey, "dedup key"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_empty_and_long_keys() {
        assert_eq!(DedupKey::new(""), Err(Invalid::Empty { what: "dedup key" }));
        assert!(matches!(
            OrderingKey::new(&"ä".repeat(128)),
            Err(Invalid::TooLong { len: 256, max: 255, .. })
        ));
        assert_eq!("".parse::<DedupKey>(), Err(Invalid::Empty { what: "dedup key" }));
        assert_eq!("order-7".parse(), DedupKey::new("order-7"));
        assert_eq!(OrderingKey::try_from("a".to_owned()), OrderingKey::new("a"));
        assert_eq!(OrderingKey::new(&"k".repeat(255)).map(|k| k.as_str().len()), Ok(255));
    }
}
