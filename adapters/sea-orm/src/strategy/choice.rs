use std::{fmt, str::FromStr};

use claimstream_domain::Invalid;

/// The word in the configuration that chooses how messages are claimed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum StrategyChoice {
    /// Whatever the server proves it can do: `skip_locked` if a probe with two connections shows that locked rows are
    /// stepped over, else `preemptive_update`.
    #[default]
    Auto,
    /// Exactly this one, or a refusal at open.
    Exactly(Strategy),
}

/// A way to take messages that no two instances hold at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Strategy {
    /// Lock due rows, stepping over those that another claim is taking, then mark them: no claim waits for another.
    SkipLocked,
    /// Mark due rows in one statement: works on every server; instances queue up for a moment on a shard's first rows.
    PreemptiveUpdate,
    /// Lease whole shards and read them without any write for a message: the fastest, on every server; a shard has one
    /// holder at a time.
    ShardLease,
}

impl StrategyChoice {
    const WORDS: &'static str = "auto, skip_locked, preemptive_update or shard_lease";
}

impl Strategy {
    /// The word in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::SkipLocked => "skip_locked",
            Self::PreemptiveUpdate => "preemptive_update",
            Self::ShardLease => "shard_lease",
        }
    }
}

impl FromStr for StrategyChoice {
    type Err = Invalid;

    fn from_str(word: &str) -> Result<Self, Invalid> {
        match word {
            "auto" => Ok(Self::Auto),
            "skip_locked" => Ok(Self::Exactly(Strategy::SkipLocked)),
            "preemptive_update" => Ok(Self::Exactly(Strategy::PreemptiveUpdate)),
            "shard_lease" => Ok(Self::Exactly(Strategy::ShardLease)),
            other => Err(Invalid::OutOfRange {
                what: "strategy",
                given: format!("{other:?}"),
                allowed: Self::WORDS.into(),
            }),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for StrategyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Exactly(strategy) => strategy.fmt(f),
        }
    }
}
