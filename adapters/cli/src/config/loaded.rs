use std::collections::BTreeMap;

use super::{Config, Origin, Sources};

/// A configuration, and where each of its values was written.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    pub(crate) origins: BTreeMap<String, Origin>,
    pub(crate) sources: Sources,
}

impl Loaded {
    /// Where the value of a key was written. One of several databases has the values of `[database]` where it says nothing itself.
    pub fn origin(&self, key: &str) -> &Origin {
        let for_all = || {
            let (_, name) = key.strip_prefix("databases.")?.split_once('.')?;
            self.origins.get(&format!("database.{name}"))
        };
        self.origins.get(key).or_else(for_all).unwrap_or(&Origin::Default)
    }
}
