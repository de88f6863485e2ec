use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use claimstream_domain::notification::provider::ProviderName;

use super::{
    assignment::{Assignment, Origin},
    databases::DatabaseName,
    error::ConfigFault,
    file,
    keys::{ConfigKeys, nearest},
};

/// Where a configuration is read from; each kind of source is stronger than the one before it.
#[derive(Clone, Default)]
pub struct Sources {
    /// A file that must be there. Without one, `claimstream.toml` in the working directory, if there is one.
    pub file: Option<PathBuf>,
    /// The environment's variables; those of other programs are passed over.
    pub environment: Vec<(String, String)>,
    /// What the command line sets: the key, its value, and the flag as it was typed.
    pub flags: Vec<(String, String, String)>,
}

/// The values may be secrets.
impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").field("file", &self.file).finish_non_exhaustive()
    }
}

/// The file that is read if none is named.
const USUAL_FILE: &str = "claimstream.toml";
const PREFIX: &str = "CLAIMSTREAM_";
/// The variable that names the file.
const FILE_VARIABLE: &str = "CLAIMSTREAM_CONFIG";

impl Sources {
    /// The process's environment, and the file that it names.
    pub fn of_process() -> Self {
        let text = |raw: OsString| raw.to_string_lossy().into_owned();
        let environment: Vec<_> =
            std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
        let named = environment.iter().find(|(name, value)| name == FILE_VARIABLE && !value.is_empty());
        Self { file: named.map(|(_, value)| value.into()), environment, flags: Vec::new() }
    }

    /// What all sources assign to known keys, the strongest of each; and everything that is wrong with the names.
    pub(super) fn read(&self, keys: &ConfigKeys) -> (BTreeMap<String, Assignment>, Vec<ConfigFault>) {
        let mut chosen = BTreeMap::new();
        let mut faults = Vec::new();
        let (variables, misspelt) = self.variables(keys);
        faults.extend(misspelt);
        for layer in [self.file_layer(), Ok(variables), Ok(self.flag_layer())] {
            match layer {
                Ok(layer) => faults.extend(overlay(&mut chosen, layer, keys)),
                Err(unreadable) => faults.extend(unreadable),
            }
        }
        (chosen, faults)
    }

    /// The names of the sections `[SECTION.NAME]` in all sources. What is no name is left to be refused as an unknown key.
    pub(super) fn names_in(&self, section: &str) -> BTreeSet<ProviderName> {
        self.names_below(section).into_iter().filter_map(|name| ProviderName::new(&name).ok()).collect()
    }

    /// The names of the sections `[databases.NAME]` in all sources, in the same way.
    pub(super) fn database_names(&self) -> BTreeSet<DatabaseName> {
        self.names_below("databases").into_iter().filter_map(|name| DatabaseName::new(&name).ok()).collect()
    }

    /// What stands between this section and a key of it, in all sources.
    fn names_below(&self, section: &str) -> BTreeSet<String> {
        let file = self.file_layer().unwrap_or_default().into_iter().map(|given| given.key);
        let variables = self.environment.iter().filter(|(_, value)| !value.is_empty());
        let variables = variables.filter_map(|(name, _)| name.strip_prefix(PREFIX));
        let variables = variables.map(|rest| rest.to_lowercase().replace("__", "."));
        let flags = self.flags.iter().map(|(key, ..)| key.clone());
        let name = |key: String| {
            let (name, _) = key.strip_prefix(section)?.strip_prefix('.')?.split_once('.')?;
            Some(name.to_owned())
        };
        file.chain(variables).chain(flags).filter_map(name).collect()
    }

    fn file_layer(&self) -> Result<Vec<Assignment>, Vec<ConfigFault>> {
        match &self.file {
            Some(path) => file::read(path),
            None if Path::new(USUAL_FILE).exists() => file::read(Path::new(USUAL_FILE)),
            None => Ok(Vec::new()),
        }
    }

    /// Our variables, `CLAIMSTREAM_SECTION__KEY`; and those that are nearly ours.
    ///
    /// A single underscore may stand for the double one where the whole name is unambiguous. A variable of that form
    /// that means nothing here belongs to another program, unless it looks like a slip.
    fn variables(&self, keys: &ConfigKeys) -> (Vec<Assignment>, Vec<ConfigFault>) {
        let flat: BTreeMap<String, &str> = keys.iter().map(|key| (key.replace('.', "_"), key)).collect();
        let (mut assignments, mut faults) = (Vec::new(), Vec::new());
        let set = self.environment.iter().filter(|(name, value)| name != FILE_VARIABLE && !value.is_empty());
        for (name, value) in set {
            let Some(rest) = name.strip_prefix(PREFIX) else { continue };
            let path = rest.to_lowercase().replace("__", ".");
            let known = flat.get(path.as_str()).copied();
            if !path.contains('.') && known.is_none() {
                let all = flat.keys().map(String::as_str).chain(["config"]);
                faults.extend(nearest(&path, all).map(|meant| misspelt(name, meant)));
                continue;
            }
            let key = known.map_or(path, str::to_owned);
            let origin = Origin::Variable(name.clone());
            assignments.push(Assignment { key, name: name.clone(), text: value.clone(), origin });
        }
        (assignments, faults)
    }

    fn flag_layer(&self) -> Vec<Assignment> {
        let assign = |(key, value, flag): &(String, String, String)| Assignment {
            key: key.clone(),
            name: key.clone(),
            text: value.clone(),
            origin: Origin::Flag(flag.clone()),
        };
        // The last of several flags holds.
        let last: BTreeMap<String, Assignment> =
            self.flags.iter().map(|flag| (flag.0.clone(), assign(flag))).collect();
        last.into_values().collect()
    }
}

/// Puts a stronger layer over the weaker ones.
fn overlay(
    chosen: &mut BTreeMap<String, Assignment>,
    layer: Vec<Assignment>,
    keys: &ConfigKeys,
) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    let mut own: BTreeMap<String, Assignment> = BTreeMap::new();
    for assignment in layer {
        let key = assignment.key.clone();
        if !keys.contains(&key) {
            faults.push(unknown(&assignment, keys));
            continue;
        }
        let other = keys.alternatives(&key).into_iter().find(|other| own.contains_key(other));
        if let Some(other) = other {
            let why = format!("`{key}` and `{other}` say the same thing; give one of them");
            faults.push(ConfigFault::at(&assignment.origin, why));
        }
        if let Some(twice) = own.insert(key.clone(), assignment.clone()) {
            let why = format!("`{key}` is set here and by {}; set it once", twice.origin);
            faults.push(ConfigFault::at(&assignment.origin, why));
        }
    }
    for (key, assignment) in own {
        for weaker in keys.alternatives(&key) {
            chosen.remove(&weaker);
        }
        chosen.insert(key, assignment);
    }
    faults
}

fn unknown(assignment: &Assignment, keys: &ConfigKeys) -> ConfigFault {
    let hint = match &assignment.origin {
        Origin::Variable(_) => keys.hint(&assignment.key, variable),
        _ => keys.hint(&assignment.key, str::to_owned),
    };
    ConfigFault::at(&assignment.origin, format!("unknown key `{}`; {hint}", assignment.name))
}

fn misspelt(name: &str, meant: &str) -> ConfigFault {
    let meant = format!("{PREFIX}{}", meant.to_uppercase());
    ConfigFault::at(
        &Origin::Variable(name.to_owned()),
        format!("unknown key `{name}`; did you mean `{meant}`?"),
    )
}

/// The variable of a key.
pub(super) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "__").to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn variables(names: &[(&str, &str)]) -> (Vec<(String, String)>, Vec<String>) {
        let environment =
            names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let sources = Sources { environment, ..Sources::default() };
        let (found, faults) = sources.read(&Config::known());
        let found = found.into_values().map(|a| (a.key, a.text)).collect();
        (found, faults.iter().map(ConfigFault::to_string).collect())
    }

    #[test]
    fn variables_name_keys_with_one_or_two_underscores() {
        let (found, faults) = variables(&[
            ("CLAIMSTREAM_DATABASE_URL", "a"),
            ("CLAIMSTREAM_RELAY__SETTLE_BATCH", "b"),
            ("CLAIMSTREAM_CHANNELS__IN_APP__FILE", "c"),
            ("CLAIMSTREAM_DATABASE_RETENTION", "d"),
            ("CLAIMSTREAM_RELAY__BATCH", ""),
            ("CLAIMSTREAM_SERVERS", "x"),
            ("CLAIMSTREAM_MARIADB_10_5_URL", "x"),
            ("RELAY__BATCH", "x"),
        ]);
        let expected = [
            ("channels.in_app.file", "c"),
            ("database.retention", "d"),
            ("database.url", "a"),
            ("relay.settle_batch", "b"),
        ];
        assert_eq!(found, expected.map(|(key, text)| (key.to_owned(), text.to_owned())));
        assert!(faults.is_empty(), "{faults:?}");
    }

    #[test]
    fn a_slip_in_a_variable_is_refused() {
        let refused = |name| variables(&[(name, "x")]).1.join("");
        assert_eq!(
            refused("CLAIMSTREAM_RELAY__BACTH"),
            "environment CLAIMSTREAM_RELAY__BACTH: unknown key `CLAIMSTREAM_RELAY__BACTH`; did you mean \
             `CLAIMSTREAM_RELAY__BATCH`?"
        );
        assert!(refused("CLAIMSTREAM_DATABSE_URL").ends_with("did you mean `CLAIMSTREAM_DATABASE_URL`?"));
        assert!(refused("CLAIMSTREAM_CONFG").ends_with("did you mean `CLAIMSTREAM_CONFIG`?"));
    }

    #[test]
    fn one_variable_never_means_two_keys() {
        let keys = Config::known();
        let mut flat: Vec<String> = keys.iter().map(|key| key.replace('.', "_")).collect();
        assert!(!flat.contains(&"config".to_owned()));
        let all = flat.len();
        flat.sort();
        flat.dedup();
        assert_eq!(flat.len(), all);
        assert!(keys.iter().all(|key| !key.contains("__")));
    }

    #[test]
    fn the_same_thing_twice_in_one_source_is_refused() {
        let (_, faults) = variables(&[("CLAIMSTREAM_DATABASE_URL", "a"), ("CLAIMSTREAM_DATABASE__URL", "b")]);
        assert!(faults[0].contains("`database.url` is set here and by environment"), "{faults:?}");
        let (_, faults) = variables(&[
            ("CLAIMSTREAM_DATABASE__PASSWORD", "a"),
            ("CLAIMSTREAM_DATABASE__PASSWORD_FILE", "b"),
        ]);
        assert!(faults[0].contains("say the same thing"), "{faults:?}");
    }

    #[test]
    fn a_stronger_source_replaces_every_way_to_give_a_secret() {
        let sources = Sources {
            environment: vec![("CLAIMSTREAM_DATABASE__PASSWORD".into(), "a".into())],
            flags: vec![(
                "database.password_env".into(),
                "NAME".into(),
                "--set database.password_env".into(),
            )],
            ..Sources::default()
        };
        let (found, faults) = sources.read(&Config::known());
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["database.password_env"]);
        assert!(faults.is_empty());
    }
}
