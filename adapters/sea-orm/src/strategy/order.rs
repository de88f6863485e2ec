use std::{fmt, str::FromStr};

use claimstream_domain::Invalid;

/// The word in the configuration that says whether messages of one ordering key follow each other; only the strategy
/// `shard_lease` can keep an order.
///
/// The order is that of due time, then id. Both are made before the message's transaction commits: a message whose
/// transaction commits after one with a later due time was already handed out comes behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Order {
    /// No order.
    #[default]
    None,
    /// Messages of one key are handled one after another; one that fails holds back its key until it is done or dead.
    PerKey,
    /// The same, but one that fails is overtaken by its followers while it waits for its retry.
    PerKeySkip,
}

impl Order {
    const WORDS: &'static str = "none, per_key or per_key_skip";

    /// The word in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::PerKey => "per_key",
            Self::PerKeySkip => "per_key_skip",
        }
    }

    pub(crate) fn is_per_key(self) -> bool {
        self != Self::None
    }

    /// Whether a message that is put off keeps its place, and with it its key.
    pub(crate) fn blocks(self) -> bool {
        self == Self::PerKey
    }
}

impl FromStr for Order {
    type Err = Invalid;

    fn from_str(word: &str) -> Result<Self, Invalid> {
        [Self::None, Self::PerKey, Self::PerKeySkip]
            .into_iter()
            .find(|order| order.name() == word)
            .ok_or_else(|| Invalid::OutOfRange {
                what: "order",
                given: format!("{word:?}"),
                allowed: Self::WORDS.into(),
            })
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
