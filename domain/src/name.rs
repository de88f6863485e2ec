/// Defines a name that stands in keys and headers: 1 to 64 ASCII letters, digits and the characters of `others`.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, others: $others:literal, $allowed:literal) => {
        $(#[$doc])*
        ///
        #[doc = concat!("1 to 64 bytes, compared one by one; ", $allowed, ".")]
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// The longest name, in bytes.
            pub const MAX_BYTES: usize = 64;

            /// Takes a name, or says why it cannot be one.
            pub fn new(name: &str) -> Result<Self, $crate::Invalid> {
                $crate::Invalid::unless_length($what, name, Self::MAX_BYTES)?;
                match name.chars().find(|c| !c.is_ascii_alphanumeric() && !$others.contains(*c)) {
                    Some(found) => {
                        Err($crate::Invalid::Character { what: $what, found, allowed: $allowed })
                    }
                    None => Ok(Self(name.into())),
                }
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(name: &str) -> Result<Self, $crate::Invalid> {
                Self::new(name)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = $crate::Invalid;

            fn try_from(name: &str) -> Result<Self, $crate::Invalid> {
                Self::new(name)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::Invalid;

            fn try_from(name: String) -> Result<Self, $crate::Invalid> {
                Self::new(&name)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.as_str().to_owned()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{:?}", self.as_str())
            }
        }
    };
}

pub(crate) use name;
