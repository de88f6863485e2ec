use std::{fmt, str::FromStr};

use crate::Invalid;

/// The name of a provider: lower-case letters, digits, `-` and `_`, at most 64, beginning with a letter or a digit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProviderName(Box<str>);

impl ProviderName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 64;

    /// Refuses what is no name.
    pub fn new(name: &str) -> Result<Self, Invalid> {
        Invalid::unless_length("provider name", name, Self::MAX_BYTES)?;
        let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        match name.starts_with(['-', '_']) || !name.chars().all(is_inner) {
            true => Err(Invalid::Malformed {
                what: "provider name",
                why: format!("{name:?}; use lower-case letters, digits, - and _, such as ses-eu"),
            }),
            false => Ok(Self(name.into())),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ProviderName {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        Self::new(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        for name in ["ses", "ses-eu_2", "1"] {
            assert_eq!(ProviderName::new(name).unwrap().as_str(), name);
        }
        for name in ["", "-a", "SES", "a b", "ü", &"a".repeat(65)] {
            assert!(ProviderName::new(name).is_err(), "{name}");
        }
    }
}
