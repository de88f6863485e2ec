use std::{fmt, str::FromStr};

/// Who is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Contender {
    /// The hand-written bound of a single table.
    Ceilxr,
    /// The library with one statement per claim.
    PreemptiveUpdate,
    /// The library with locks that are stepped over.
    SkipLocked,
    /// The library with leases of whole shards.
    ShardLease,
}

impl Contender {
    pub(crate) const ALL: [Self; 4] =
        [Self::Ceilxr, Self::PreemptiveUpdate, Self::SkipLocked, Self::ShardLease];

    /// The contender's name; for the library's, the word in the configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ceilxr => "ceilxr",
            Self::PreemptiveUpdate => "preemptive_update",
            Self::SkipLocked => "skip_locked",
            Self::ShardLease => "shard_lease",
        }
    }
}

impl FromStr for Contender {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|contender| contender.name() == name);
        known.ok_or_else(|| format!("use {}", Self::ALL.map(Self::name).join(", ")))
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
