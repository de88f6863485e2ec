use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Invalid;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        ///
        /// 1 to 64 ASCII letters, digits, `-`, `_`, `.` and `:`, compared byte by byte.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Box<str>);

        impl $name {
            /// The longest name, in bytes.
            pub const MAX_BYTES: usize = 64;

            /// Takes a name, or says why it cannot be one.
            pub fn new(name: &str) -> Result<Self, Invalid> {
                Invalid::unless_length($what, name, Self::MAX_BYTES)?;
                match name.chars().find(|c| !c.is_ascii_alphanumeric() && !"-_.:".contains(*c)) {
                    Some(found) => Err(Invalid::Character {
                        what: $what,
                        found,
                        allowed: "use ASCII letters, digits, '-', '_', '.' and ':'",
                    }),
                    None => Ok(Self(name.into())),
                }
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(name: &str) -> Result<Self, Invalid> {
                Self::new(name)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Invalid;

            fn try_from(name: String) -> Result<Self, Invalid> {
                Self::new(&name)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.as_str())
            }
        }
    };
}

name! {
    /// What a global transaction is told apart by: chosen by whoever begins it, and never used again.
    GlobalId, "global transaction id"
}

name! {
    /// What a branch is told apart by within its global transaction.
    BranchName, "branch name"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_a_header_or_a_key_could_not_carry() {
        assert!(GlobalId::new("order-7:2026.11_a").is_ok() && BranchName::new(&"b".repeat(64)).is_ok());
        assert_eq!(GlobalId::new(""), Err(Invalid::Empty { what: "global transaction id" }));
        assert!(matches!(BranchName::new(&"b".repeat(65)), Err(Invalid::TooLong { len: 65, .. })));
        for bad in ["a/b", "a b", "a\r\nb", "größe", "a "] {
            assert!(matches!(GlobalId::new(bad), Err(Invalid::Character { .. })), "{bad:?}");
        }
        assert!(serde_json::from_str::<BranchName>("\"a/b\"").is_err());
    }
}
