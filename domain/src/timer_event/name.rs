use std::{fmt, str::FromStr, sync::Arc};

use crate::Invalid;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The longest name, in bytes.
            pub const MAX_BYTES: usize = 64;

            /// Takes 1 to 64 ASCII letters, digits, `-`, `_` and `.`, or says why they cannot be a name.
            pub fn new(name: &str) -> Result<Self, Invalid> {
                check($what, name).map(|()| Self(name.into()))
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

        impl TryFrom<&str> for $name {
            type Error = Invalid;

            fn try_from(name: &str) -> Result<Self, Invalid> {
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
                name.0.as_ref().to_owned()
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
    /// What events of one kind are told apart by from those of another; it is stored with each, so it must not change.
    SchemeName, "scheme name"
}

name! {
    /// What a decision is told apart by within its scheme; it is stored with each result, so it must not change.
    DecisionName, "decision name"
}

fn check(what: &'static str, name: &str) -> Result<(), Invalid> {
    Invalid::unless_length(what, name, SchemeName::MAX_BYTES)?;
    match name.chars().find(|c| !c.is_ascii_alphanumeric() && !"-_.".contains(*c)) {
        Some(found) => {
            Err(Invalid::Character { what, found, allowed: "use ASCII letters, digits, '-', '_' and '.'" })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_a_key_could_be_misread_by() {
        assert_eq!(SchemeName::new(""), Err(Invalid::Empty { what: "scheme name" }));
        assert!(matches!(SchemeName::new("a/b"), Err(Invalid::Character { found: '/', .. })));
        assert!(matches!(DecisionName::new("größe"), Err(Invalid::Character { found: 'ö', .. })));
        assert!(matches!(DecisionName::new(&"d".repeat(65)), Err(Invalid::TooLong { len: 65, .. })));
        let name = SchemeName::new("monthly-bill_1.0").unwrap();
        let json = serde_json::to_string(&name).unwrap();
        assert_eq!((json.as_str(), serde_json::from_str(&json).unwrap()), ("\"monthly-bill_1.0\"", name));
        assert!(serde_json::from_str::<SchemeName>("\"a b\"").is_err());
    }
}
