use std::{fmt, path::PathBuf, process::Command};

use serde::Deserialize;

use crate::Failure;

/// Who is measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Contender {
    /// One that this binary holds.
    Own(Own),
    /// One that another binary holds.
    Peer(Peer),
}

/// The contenders of this binary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Own {
    /// The bound without a claim index and without reading bodies.
    Ceil,
    /// The bound of a single table.
    Ceilxr,
    /// A loop on the library's design of tables, without a library.
    Handwritten,
    /// A claim that steps over locked rows, as its source text has it.
    S0,
    /// A preemptive update with a subquery, as its source text has it.
    S1,
    /// The library with one statement per claim.
    PreemptiveUpdate,
    /// The library with locks that are stepped over.
    SkipLocked,
    /// The library with leases of whole shards.
    ShardLease,
    /// The same with messages of one key in order.
    ShardLeasePerKey,
    /// Leases of whole shards, handled and acknowledged by the batch.
    ShardLeaseBatches,
}

impl Own {
    pub(crate) const ALL: [Self; 10] = [
        Self::Ceil,
        Self::Ceilxr,
        Self::Handwritten,
        Self::S0,
        Self::S1,
        Self::PreemptiveUpdate,
        Self::SkipLocked,
        Self::ShardLease,
        Self::ShardLeasePerKey,
        Self::ShardLeaseBatches,
    ];

    /// The contender's name; for the library's, the words in the configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ceil => "ceil",
            Self::Ceilxr => "ceilxr",
            Self::Handwritten => "handwritten",
            Self::S0 => "s0",
            Self::S1 => "s1",
            Self::PreemptiveUpdate => "preemptive_update",
            Self::SkipLocked => "skip_locked",
            Self::ShardLease => "shard_lease",
            Self::ShardLeasePerKey => "shard_lease_per_key",
            Self::ShardLeaseBatches => "shard_lease_batches",
        }
    }

    pub(crate) fn named(name: &str) -> Result<Self, Failure> {
        let known = Self::ALL.into_iter().find(|own| own.name() == name);
        known.ok_or_else(|| format!("there is no contender {name}; use {}", names()).into())
    }

    /// Whether it is the library.
    pub(crate) fn is_library(self) -> bool {
        self >= Self::PreemptiveUpdate
    }

    /// Whether it takes messages by the batch instead of one by one.
    pub(crate) fn is_in_batches(self) -> bool {
        self == Self::ShardLeaseBatches
    }

    /// Whether its messages carry ordering keys.
    pub(crate) fn is_keyed(self) -> bool {
        self == Self::ShardLeasePerKey
    }

    /// A source text's own SQL, which is measured for no longer than a few seconds: it slows down with the backlog.
    pub(crate) fn is_naive(self) -> bool {
        matches!(self, Self::S0 | Self::S1)
    }
}

/// A contender of another binary, as that tells of it.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Peer {
    #[serde(skip)]
    pub(crate) program: PathBuf,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) note: String,
    pub(crate) scenarios: Vec<String>,
    /// Whether it writes leases and attempts for each message, as the library does; its name says so otherwise.
    #[serde(default)]
    pub(crate) leases: Option<bool>,
}

impl Peer {
    /// Whether it leases each message and counts its attempts.
    pub(crate) fn leases(&self) -> bool {
        self.leases.unwrap_or_else(|| self.name.contains("lease"))
    }

    /// The peers that a binary holds.
    pub(crate) fn all_of(program: &PathBuf) -> Result<Vec<Self>, Failure> {
        let output = Command::new(program).arg("list").output()?;
        if !output.status.success() {
            return Err(format!("{} list: {}", program.display(), output.status).into());
        }
        let lines = String::from_utf8(output.stdout)?;
        let peer = |line: &str| Ok(Self { program: program.clone(), ..serde_json::from_str(line)? });
        lines.lines().filter(|line| !line.trim().is_empty()).map(peer).collect()
    }
}

impl Contender {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Own(own) => own.name(),
            Self::Peer(peer) => &peer.name,
        }
    }

    pub(crate) fn peer(&self) -> Option<&Peer> {
        match self {
            Self::Own(_) => None,
            Self::Peer(peer) => Some(peer),
        }
    }

    /// The program that runs it.
    pub(crate) fn program(&self) -> Result<PathBuf, Failure> {
        match self {
            Self::Own(_) => Ok(std::env::current_exe()?),
            Self::Peer(peer) => Ok(peer.program.clone()),
        }
    }

    pub(crate) fn is_library(&self) -> bool {
        matches!(self, Self::Own(own) if own.is_library())
    }

    /// Whether its messages carry ordering keys.
    pub(crate) fn is_keyed(&self) -> bool {
        matches!(self, Self::Own(own) if own.is_keyed())
    }

    /// Whether it is measured for a few seconds only.
    pub(crate) fn is_naive(&self) -> bool {
        matches!(self, Self::Own(own) if own.is_naive())
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

fn names() -> String {
    Own::ALL.map(Own::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_is_found_by_its_name() {
        for own in Own::ALL {
            assert_eq!(Own::named(own.name()).unwrap(), own);
        }
        assert!(Own::named("unknown").is_err());
    }

    #[test]
    fn a_peer_is_read_from_its_line() {
        let line = r#"{"name":"a lease","version":"1.0","note":"","scenarios":["drain"]}"#;
        let peer: Peer = serde_json::from_str(line).unwrap();
        assert!(peer.leases());
    }
}
