use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use super::Address;
use crate::{Fingerprint, Invalid};

/// Why an address must not be written to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suppression {
    /// Its owner asked for it. What a category requires is sent all the same.
    Unsubscribed,
    /// There is no such address.
    Bounced,
    /// Its owner reported a message as spam.
    Complained,
}

/// An address that is suppressed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SuppressedAddress {
    /// The fingerprint of the address, under which it is kept.
    pub key: Fingerprint,
    /// The address; its text is [`ERASED`](crate::notification::ERASED) if its owner was erased.
    pub address: Address,
    /// Why.
    pub reason: Suppression,
    /// What else is known, such as a provider's own words.
    pub note: Option<String>,
    /// For how long.
    pub age: Duration,
}

impl Suppression {
    /// Every reason, the strongest last.
    pub const ALL: [Self; 3] = [Self::Unsubscribed, Self::Bounced, Self::Complained];

    /// The reason's name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsubscribed => "unsubscribed",
            Self::Bounced => "bounced",
            Self::Complained => "complained",
        }
    }

    /// The reason that is kept if there is one already: the stronger one.
    pub fn or(self, kept: Option<Self>) -> Self {
        kept.map_or(self, |kept| kept.max(self))
    }
}

impl fmt::Display for Suppression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Suppression {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|reason| reason.name() == name).ok_or_else(|| Invalid::OutOfRange {
            what: "suppression",
            given: name.into(),
            allowed: format!("one of {}", Self::ALL.map(Self::name).join(", ")),
        })
    }
}
