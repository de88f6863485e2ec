use claimstream_domain::RetryPolicy;
use claimstream_notifications::{MessageConfig, RequestConfig};

use super::{
    BoardSettings, Channels, DatabaseSettings, DatabaseUrl, Databases, DirectorySettings, Log,
    NotificationSettings, Otlp, Probes, Publishing, Relay, Serve, Setting, Templates,
    contradiction::Contradiction, keys::ConfigKeys, retry,
};

/// Everything that can be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Where the outbox is; with several databases, what holds for all of them.
    pub database: DatabaseSettings,
    /// The databases, if there are several.
    pub databases: Databases,
    /// How messages are claimed and settled.
    pub relay: Relay,
    /// How often a notification request is tried: 30 s doubled up to 30 min, 6 attempts.
    pub requests: RetryPolicy,
    /// How often a notification message is tried: 30 s doubled up to 5 h, 11 attempts.
    pub messages: RetryPolicy,
    /// Whom notifications reach, and what they say.
    pub notifications: NotificationSettings,
    /// Where templates are kept.
    pub templates: Templates,
    /// Where users and segments are.
    pub directory: DirectorySettings,
    /// How notifications are delivered.
    pub channels: Channels,
    /// Which queues are published to brokers.
    pub publish: Publishing,
    /// How notifications are taken in over HTTP.
    pub serve: Serve,
    /// How the board is shown.
    pub board: BoardSettings,
    /// Where the process shows how it stands.
    pub probes: Probes,
    /// Where the process sends spans and metrics.
    pub otlp: Otlp,
    /// The log's level and format.
    pub log: Log,
}

impl Config {
    /// Every key that exists, as `section.key`.
    pub fn keys() -> Vec<String> {
        Self::known().iter().map(str::to_owned).collect()
    }

    pub(super) fn known() -> ConfigKeys {
        Self::default().known_keys()
    }

    pub(super) fn known_keys(&self) -> ConfigKeys {
        let mut names = Vec::new();
        self.clone().each(&mut |name, _| names.push(name.to_owned()));
        ConfigKeys::new(names)
    }

    /// Shows every key and its value to `visit`. It is the only list of them.
    pub(crate) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        self.database.each_in("database", visit);
        self.each_but_database(visit);
    }

    pub(super) fn each_but_database(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        self.databases.each(visit);
        self.relay.each(visit);
        retry::each(&mut self.requests, "requests.retry", visit);
        retry::each(&mut self.messages, "messages.retry", visit);
        self.notifications.each(visit);
        self.templates.each(visit);
        self.directory.each(visit);
        self.channels.each(visit);
        self.publish.each(visit);
        self.serve.each(visit);
        self.board.each(visit);
        self.probes.each(visit);
        self.otlp.each(visit);
        self.log.each(visit);
    }

    /// Where its databases are.
    fn urls(&self) -> impl Iterator<Item = &DatabaseUrl> {
        let named = self.databases.named.values().filter_map(|one| one.database.url.as_ref());
        self.database.url.iter().chain(named)
    }

    pub(super) fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        found.extend(self.database.contradictions_in("database"));
        found.extend(self.databases.contradictions(&self.database));
        found.extend(self.relay.contradictions());
        found.extend(retry::contradiction(&self.requests, "requests.retry"));
        found.extend(retry::contradiction(&self.messages, "messages.retry"));
        found.extend(self.notifications.contradiction());
        found.extend(self.templates.contradictions(self.notifications.templates.is_some()));
        found.extend(self.directory.contradictions(&self.notifications));
        found.extend(self.channels.contradictions());
        found.extend(self.publish.contradictions(self.relay.handle_timeout));
        found.extend(self.relay.contradiction_of_sharing(self.databases.named.len()));
        found.extend(self.relay.binlog_contradiction(self.urls()));
        found.extend(self.serve.contradictions());
        found.extend(self.databases.contradiction_of_intake(self.serve.database.as_deref()));
        found.extend(self.board.contradiction());
        found.extend(self.probes.contradictions());
        found.extend(self.otlp.contradictions());
        found
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            database: DatabaseSettings::default(),
            databases: Databases::default(),
            relay: Relay::default(),
            requests: RequestConfig::default().retry,
            messages: MessageConfig::default().retry,
            notifications: NotificationSettings::default(),
            templates: Templates::default(),
            directory: DirectorySettings::default(),
            channels: Channels::default(),
            publish: Publishing::default(),
            serve: Serve::default(),
            board: BoardSettings::default(),
            probes: Probes::default(),
            otlp: Otlp::default(),
            log: Log::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ClaimingChoice, Loaded, LockPlace, Sources};

    fn load(flags: &[(&str, &str)]) -> Result<Loaded, String> {
        let flag =
            |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned(), format!("--set {key}"));
        let flags = flags.iter().map(flag).collect();
        // A file of its own, so that no claimstream.toml of the working directory is read.
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("c.toml");
        std::fs::write(&file, "[relay]\nbatch = 7\nprefetch = 8\n").unwrap();
        let environment = vec![("CLAIMSTREAM_RELAY__PREFETCH".to_owned(), "9".to_owned())];
        Config::load(&Sources { file: Some(file), environment, flags }).map_err(|e| e.to_string())
    }

    #[test]
    fn a_flag_is_stronger_than_a_variable_and_that_than_the_file() {
        let loaded = load(&[("relay.concurrency", "3")]).unwrap();
        let relay = &loaded.config.relay;
        assert_eq!((relay.batch, relay.prefetch, relay.concurrency), (7, 9, 3));
        assert_eq!(relay.settle_batch, Relay::default().settle_batch);
        let origin = |key| loaded.origin(key).to_string();
        assert!(origin("relay.batch").ends_with("c.toml:2"));
        assert_eq!(origin("relay.prefetch"), "environment CLAIMSTREAM_RELAY__PREFETCH");
        assert_eq!(origin("relay.concurrency"), "flag --set relay.concurrency");
        assert_eq!(origin("database.retention"), "default");
        assert_eq!(load(&[("relay.prefetch", "40")]).unwrap().config.relay.prefetch, 40);
    }

    #[test]
    fn says_everything_that_is_wrong_at_once_and_where() {
        let why = load(&[("relay.bacth", "1"), ("relay.drain", "soon"), ("log.format", "xml")]).unwrap_err();
        let lines: Vec<&str> = why.lines().collect();
        assert_eq!(lines.len(), 3, "{why}");
        assert!(
            why.contains("flag --set relay.bacth: unknown key `relay.bacth`; did you mean `relay.batch`?")
        );
        assert!(why.contains("flag --set relay.drain: `relay.drain`: \"soon\" is not a duration"));
        assert!(why.contains("\"xml\" is not one of text, json"));
    }

    #[test]
    fn values_that_cannot_be_used_are_refused_with_their_key() {
        let why = |key: &str, value: &str| load(&[(key, value)]).unwrap_err();
        assert_eq!(
            why("relay.batch", "0"),
            "flag --set relay.batch: `relay.batch`: batch is 0, it must be at least 1"
        );
        assert!(why("relay.settle_age", "1m").starts_with("flag --set relay.settle_age: `relay.settle_age`"));
        assert!(why("relay.idle_max", "1ms").contains("`relay.idle_max`: idle wait is"));
        assert!(why("relay.binlog_server_id", "0").contains("unique among servers and readers"));
        assert!(why("relay.wakeup", "kafka://a").contains("or \"binlog\", or \"none\""));
        assert!(why("relay.label", &"x".repeat(65)).contains("`relay.label`: owner label has 65 bytes"));
        assert!(why("requests.retry.max_attempts", "0").contains("`requests.retry.max_attempts`: "));
        assert!(why("messages.retry.cap", "1s").contains("`messages.retry.cap`: retry cap is 1s"));
        assert!(why("database.retention", "keep 10m").contains("must be keep 1h or longer, or delete"));
        assert!(
            why("database.step_retention", "1m").contains("`database.step_retention`: step_retention is 1m")
        );
        assert!(why("database.retention", "7d").contains("neither \"delete\" nor like \"keep 7d\""));
        assert!(why("database.max_connections", "1").contains("at least 2"));
        assert!(why("database.relay_connections", "1").contains("at least 2"));
        assert!(why("database.strategy", "lock_guarded").contains("set database.lock = \"database\""));
        assert!(why("database.lock", "memcached://cache").contains("redis-cluster://"));
        assert!(why("database.strategy", "guarded").ends_with("or lock_guarded"));
        assert!(why("notifications.chunk", "0").contains("1 to 10000"));
        assert!(why("notifications.quiet_hours", "22-8").contains("like \"22:00-08:00\""));
        assert!(why("notifications.time_zone", "Mars").contains("like Europe/Berlin"));
        assert!(why("channels.sms.provider", "webhook").contains("set channels.sms.url"));
    }

    #[test]
    fn a_strategy_is_put_behind_a_lock_by_words_alone() {
        // What the file holds would take no more than nine at a time.
        let load = |flags: &[_]| load(&[&[("relay.concurrency", "3")], flags].concat());
        let guarded = |lock| load(&[("database.strategy", "lock_guarded"), ("database.lock", lock)]).unwrap();
        let database = guarded("database").config.database;
        assert_eq!(database.choice().to_string(), "preemptive_update");
        assert_eq!(database.strategy, ClaimingChoice::LockGuarded);
        assert!(matches!(guarded("redis://cache:6379/0").config.database.lock, Some(LockPlace::Redis(_))));
        let ordered = [
            ("database.strategy", "lock_guarded"),
            ("database.lock", "database"),
            ("database.guarded", "shard_lease"),
            ("database.order", "per_key"),
        ];
        assert!(load(&ordered).is_ok());
        assert!(load(&ordered[..2]).is_ok() && load(&ordered[..1]).is_err());
    }

    #[test]
    fn a_secret_is_in_no_error_and_in_no_debug_text() {
        let loaded = load(&[
            ("database.url", "mysql://app:hunter2@db/shop"),
            ("database.strategy", "lock_guarded"),
            ("database.lock", "redis://app:hunter2@cache/0"),
            ("channels.webhook.secret", "hunter2"),
            ("channels.email.password", "hunter2"),
            ("channels.sms.url", "https://gate.example/hunter2"),
        ]);
        assert!(!format!("{loaded:?}").contains("hunter2"));
        let why =
            load(&[("database.url", "mysql://hunter2"), ("channels.email.server", "smtp://u:hunter2@h")]);
        assert!(!why.unwrap_err().contains("hunter2"));
    }
}
