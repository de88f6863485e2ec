use std::{collections::BTreeMap, fmt};

use super::{
    contradiction::Contradiction, database::DatabaseSettings, secret::SecretSource, setting::Setting,
};

/// The databases of a configuration that has several, each in a section `[databases.NAME]`; there are none by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Databases {
    /// Each with what it says itself, over what `[database]` says for all.
    pub named: BTreeMap<DatabaseName, NamedDatabase>,
}

/// The name of a database in a configuration: lower-case letters, digits, `-` and `_`, at most 32, beginning with a letter.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DatabaseName(Box<str>);

/// One of several databases.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NamedDatabase {
    /// Where it is and how it is opened.
    pub database: DatabaseSettings,
    /// Whether it is being emptied, to be removed: its messages are delivered, and no command takes in new ones; not by default.
    pub drain: bool,
}

impl DatabaseName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 32;

    /// Refuses what is no name, with a sentence.
    pub fn new(name: &str) -> Result<Self, String> {
        let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_inner);
        match is_name && name.len() <= Self::MAX_BYTES {
            true => Ok(Self(name.into())),
            false => Err(format!(
                "{name:?} is no name of a database; use lower-case letters, digits, - and _, at most {}, beginning with a letter",
                Self::MAX_BYTES
            )),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DatabaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Databases {
    pub(super) fn of(names: impl IntoIterator<Item = DatabaseName>) -> Self {
        Self { named: names.into_iter().map(|name| (name, NamedDatabase::default())).collect() }
    }

    /// Begins each with what `[database]` says for all of them; a secret that has a place of its own, as `sets` says, is its own alone.
    pub(super) fn inherit(&mut self, all: &DatabaseSettings, sets: impl Fn(&str) -> bool) {
        for (name, one) in &mut self.named {
            one.database = all.clone();
            let key = |suffix| format!("databases.{name}.password{suffix}");
            if ["", "_env", "_file"].into_iter().any(|suffix| sets(&key(suffix))) {
                one.database.password = SecretSource::default();
            }
        }
    }

    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        for (name, one) in &mut self.named {
            let section = format!("databases.{name}");
            one.database.each_in(&section, visit);
            visit(&format!("{section}.drain"), &mut one.drain);
        }
    }

    pub(super) fn contradictions(&self, all: &DatabaseSettings) -> Vec<Contradiction> {
        if self.named.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        if all.url.is_some() {
            let why = "with sections [databases.NAME] the section [database] says what holds for all of them; give this URL \
                       to one of the sections";
            found.push(("database.url".into(), why.into()));
        }
        for (name, NamedDatabase { database, .. }) in &self.named {
            let section = format!("databases.{name}");
            if database.url.is_none() {
                found.push((format!("{section}.url"), "each database needs a URL of its own".into()));
            }
            found.extend(database.contradictions_in(&section));
        }
        found.extend(self.same_place());
        found
    }

    /// The database of `serve.database` must be one that takes messages in.
    pub(super) fn contradiction_of_intake(&self, intake: Option<&str>) -> Option<Contradiction> {
        let intake = intake?;
        let found = self.named.iter().find(|(name, _)| name.as_str() == intake);
        let why = match found {
            Some((_, one)) if !one.drain => return None,
            Some(_) => {
                format!("database {intake} is being emptied and takes in nothing new; name another one")
            }
            None => format!("there is no section [databases.{intake}]"),
        };
        Some(("serve.database".into(), why))
    }

    /// Two names of one database would look like two, and be drained as one.
    fn same_place(&self) -> Option<Contradiction> {
        let mut seen: Vec<(&DatabaseName, String)> = Vec::new();
        for (name, one) in &self.named {
            let place = one.database.url.as_ref()?.place();
            if let Some((other, _)) = seen.iter().find(|(_, known)| *known == place) {
                let why = format!("it is the database of [databases.{other}]; a database has one name");
                return Some((format!("databases.{name}.url"), why));
            }
            seen.push((name, place));
        }
        None
    }
}
