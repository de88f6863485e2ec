use std::fmt;

use claimstream_domain::{Invalid, step::StepKey};

/// The name of an effect: each consumer has an effect of its own for the same message.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Consumer(Box<str>);

impl Consumer {
    /// Takes a name such as `billing`, of 1 to 94 bytes; refuses any other. Keep it: under another name every effect is new.
    pub fn new(name: &str) -> Result<Self, Invalid> {
        if name.is_empty() {
            return Err(Invalid::Empty { what: "consumer" });
        }
        let max = StepKey::MAX_SCOPE - "inbox:".len();
        if name.len() > max {
            return Err(Invalid::TooLong { what: "consumer", len: name.len(), max });
        }
        Ok(Self(format!("inbox:{name}").into()))
    }

    /// The scope of its steps.
    pub(super) fn scope(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_start_matches("inbox:"))
    }
}
