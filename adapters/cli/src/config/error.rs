use std::fmt;

use super::assignment::Origin;

/// A configuration that cannot be used: everything that is wrong with it, each with where it was written.
#[derive(Debug, thiserror::Error)]
pub struct ConfigError(Vec<ConfigFault>);

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ConfigFault {
    origin: Option<Origin>,
    why: String,
}

impl ConfigFault {
    pub(crate) fn at(origin: &Origin, why: String) -> Self {
        Self { origin: Some(origin.clone()), why }
    }

    pub(crate) fn new(why: String) -> Self {
        Self { origin: None, why }
    }
}

impl ConfigError {
    /// Nothing, or everything that is wrong.
    pub(crate) fn unless_empty(faults: Vec<ConfigFault>) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self(faults)) }
    }

    /// One thing that is wrong, wherever it was written.
    pub(crate) fn new(why: String) -> Self {
        Self(vec![ConfigFault::new(why)])
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Some(Origin::Default) | None => f.write_str(&self.why),
            Some(origin) => write!(f, "{origin}: {}", self.why),
        }
    }
}

/// One line for each fault.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ConfigFault::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}
