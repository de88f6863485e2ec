use crate::config::{Config, ConfigError, DatabaseName, Databases, Loaded, NamedDatabase, nearest};

/// One database, with all other settings of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneDatabase {
    /// Its name; `None` in a configuration that has one database, which needs no name.
    pub name: Option<DatabaseName>,
    /// Whether it is being emptied.
    pub drain: bool,
    /// The configuration as if it had this database alone.
    pub config: Config,
}

impl Config {
    /// Whether it has databases with names.
    pub fn has_several_databases(&self) -> bool {
        !self.databases.named.is_empty()
    }

    /// Every database, in the order of their names.
    pub fn each_database(&self) -> Vec<OneDatabase> {
        if !self.has_several_databases() {
            return vec![OneDatabase { name: None, drain: false, config: self.clone() }];
        }
        let one = |(name, named): (&DatabaseName, &NamedDatabase)| OneDatabase {
            name: Some(name.clone()),
            drain: named.drain,
            config: Self {
                database: named.database.clone(),
                databases: Databases::default(),
                ..self.clone()
            },
        };
        self.databases.named.iter().map(one).collect()
    }

    /// The database of this name.
    pub fn database_named(&self, name: &str) -> Result<OneDatabase, ConfigError> {
        let found = self.each_database().into_iter().find(|one| one.is(name));
        found.ok_or_else(|| {
            let names: Vec<&str> = self.databases.named.keys().map(DatabaseName::as_str).collect();
            let hint = match nearest(name, names.iter().copied()) {
                Some(meant) => format!("did you mean {meant:?}?"),
                None if names.is_empty() => NO_SECTION.into(),
                None => format!("there are {}", names.join(", ")),
            };
            // What was given may be a slip of a URL with a password, and is not repeated.
            ConfigError::new(format!("there is no database of this name; {hint}"))
        })
    }
}

const NO_SECTION: &str = "the configuration has no section [databases.NAME]; give a URL, such as \
                          mysql://user@host/database or sqlite://file.db";

impl Loaded {
    /// Another configuration with the same origins.
    pub(crate) fn with(&self, config: Config) -> Self {
        Self { config, origins: self.origins.clone(), sources: self.sources.clone() }
    }

    /// Reads the same sources again.
    pub(crate) fn again(&self) -> Result<Self, ConfigError> {
        Config::load(&self.sources)
    }
}

impl OneDatabase {
    /// Whether it has this name.
    pub fn is(&self, name: &str) -> bool {
        self.name.as_ref().is_some_and(|own| own.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Sources;

    fn load(text: &str) -> Result<Config, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("c.toml");
        std::fs::write(&file, text).unwrap();
        let sources = Sources { file: Some(file), ..Sources::default() };
        Config::load(&sources).map(|loaded| loaded.config).map_err(|e| e.to_string())
    }

    #[test]
    fn each_database_says_what_differs_from_what_holds_for_all() {
        let config = load(
            "[database]\nstrategy = 'shard_lease'\nacquire_timeout = '3s'\n\
             [databases.orders]\nurl = 'sqlite://orders.db'\n\
             [databases.billing]\nurl = 'sqlite://billing.db'\nstrategy = 'auto'\ndrain = true\n",
        )
        .unwrap();
        let all = config.each_database();
        let names: Vec<_> = all.iter().map(|one| one.name.clone().unwrap().to_string()).collect();
        assert_eq!(names, ["billing", "orders"]);
        let strategies: Vec<_> = all.iter().map(|one| one.config.database.strategy.to_string()).collect();
        assert_eq!(strategies, ["auto", "shard_lease"]);
        assert!(all.iter().all(|one| one.config.database.acquire_timeout == Duration::from_secs(3)));
        assert_eq!((all[0].drain, all[1].drain), (true, false));
        assert_eq!(config.database_named("orders").unwrap().config.database.url, all[1].config.database.url);
        assert!(config.database_named("order").unwrap_err().to_string().contains("did you mean \"orders\"?"));
        assert!(config.database_named("x").unwrap_err().to_string().contains("there are billing, orders"));
    }

    #[test]
    fn a_password_of_its_own_stands_in_for_that_of_all() {
        let text = "[database]\npassword = 'all'\n[databases.a]\nurl = 'mysql://me@h/a'\n\
                    [databases.b]\nurl = 'mysql://me@h/b'\npassword_env = 'OWN'\n";
        let all = load(text).unwrap().each_database();
        let [a, b] = [&all[0], &all[1]].map(|one| one.config.database.password.clone());
        assert!(a.value.is_some() && b.value.is_none());
        assert_eq!(b.env.as_deref(), Some("OWN"));
    }

    #[test]
    fn a_configuration_without_sections_has_one_database_without_a_name() {
        let config = load("[database]\nurl = 'sqlite://a.db'\n").unwrap();
        assert!(!config.has_several_databases());
        let all = config.each_database();
        assert_eq!((all.len(), &all[0].name, &all[0].config), (1, &None, &config));
    }

    #[test]
    fn what_would_mean_two_things_is_refused_where_it_stands() {
        let why =
            load("[database]\nurl = 'sqlite://a.db'\n[databases.b]\nurl = 'sqlite://b.db'\n").unwrap_err();
        assert!(why.contains("c.toml:2: `database.url`: with sections [databases.NAME]"), "{why}");
        let why = load("[databases.b]\ndrain = true\n").unwrap_err();
        assert!(why.contains("`databases.b.url`: each database needs a URL"), "{why}");
        let twice =
            "[databases.a]\nurl = 'mysql://me@h/shop'\n[databases.b]\nurl = 'mysql://you@h:3306/shop'\n";
        let why = load(twice).unwrap_err();
        assert!(why.contains("c.toml:4: `databases.b.url`: it is the database of [databases.a]"), "{why}");
        let why = load("[databases.b]\nurl = 'sqlite://b.db'\nrelay_connections = 1\n").unwrap_err();
        assert!(why.contains("c.toml:3: `databases.b.relay_connections`"), "{why}");
        let two = "[relay]\nprocess_concurrency = 1\n[databases.a]\nurl = 'sqlite://a.db'\n[databases.b]\nurl = 'sqlite://b.db'\n";
        let why = load(two).unwrap_err();
        assert!(why.contains("c.toml:2: `relay.process_concurrency`: 1 at a time are too few"), "{why}");
        let why = load("[databases.Orders]\nurl = 'sqlite://b.db'\n").unwrap_err();
        assert!(why.contains("unknown key `databases.Orders.url`"), "{why}");
    }
}
