use std::collections::BTreeMap;

use super::{
    ChannelSettings, Config, ConfigError, Databases, Origin, Sources, TargetSettings, error::ConfigFault,
    setting::Setting,
};

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

impl Config {
    /// Reads a configuration from all its sources, or says everything that is wrong with it.
    pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
        let mut config = Self::default();
        // A provider and a target have their names from the sections that describe them.
        let named = sources.names_in("providers").into_iter().map(|name| (name, ChannelSettings::default()));
        config.channels.named = named.collect();
        let targets = sources.names_in("publish").into_iter().filter(|name| name.as_str() != "default");
        config.publish.named = targets.map(|name| (name, TargetSettings::default())).collect();
        config.databases = Databases::of(sources.database_names());
        let (assignments, mut faults) = sources.read(&config.known_keys());
        let mut assign = |key: &str, setting: &mut dyn Setting| {
            if let Some(given) = assignments.get(key)
                && let Err(why) = setting.assign(&given.text)
            {
                faults.push(ConfigFault::at(&given.origin, format!("`{key}`: {why}")));
            }
        };
        config.database.each_in("database", &mut assign);
        config.databases.inherit(&config.database, |key| assignments.contains_key(key));
        config.each_but_database(&mut assign);
        let origins = assignments.into_iter().map(|(key, given)| (key, given.origin)).collect();
        let loaded = Self::checked(Loaded { config, origins, sources: sources.clone() }, &mut faults);
        ConfigError::unless_empty(faults).map(|()| loaded)
    }

    /// Looks for contradictions where every value by itself is well written.
    fn checked(loaded: Loaded, faults: &mut Vec<ConfigFault>) -> Loaded {
        if faults.is_empty() {
            let found = loaded.config.contradictions().into_iter();
            faults.extend(
                found.map(|(key, why)| ConfigFault::at(loaded.origin(&key), format!("`{key}`: {why}"))),
            );
        }
        loaded
    }
}
