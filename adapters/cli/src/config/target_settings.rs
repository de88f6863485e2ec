use std::path::PathBuf;

use claimstream_domain::{
    Invalid, QueueName,
    notification::provider::ProviderName,
    publishing::{EventDescription, EventMode, Route, RouteTemplate},
};

use super::{
    broker_url::BrokerUrl,
    log::name,
    secret::SecretSource,
    setting::{ConfigValue, Setting, quoted, word},
};

/// How one target is published to. A setting that is missing here is as `publish.default` says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TargetSettings {
    /// The queue whose messages are published; the one with the target's name by default.
    pub queue: Option<QueueName>,
    /// The broker.
    pub to: Option<BrokerUrl>,
    /// Where messages go at the broker; the queue's name by default.
    pub place: Option<RouteTemplate>,
    /// How messages are written; as CloudEvents in binary mode by default.
    pub events: Option<EventChoice>,
    /// The source of CloudEvents; `/claimstream/{queue}` by default.
    pub source: Option<RouteTemplate>,
    /// The type of CloudEvents; the queue's name by default.
    pub kind: Option<RouteTemplate>,
    /// The subject of CloudEvents; none by default.
    pub subject: Option<RouteTemplate>,
    /// The user that logs in at the broker.
    pub user: Option<String>,
    /// The user's password.
    pub password: SecretSource,
    /// A token to log in by, at NATS.
    pub token: SecretSource,
    /// A PEM file with certificates that NATS is trusted by too.
    pub certificates: Option<PathBuf>,
    /// About how many entries a stream of Redis keeps; all by default.
    pub max_len: Option<u32>,
}

/// How messages are written for a broker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventChoice {
    /// CloudEvents in binary mode.
    Binary,
    /// CloudEvents in structured mode.
    Structured,
    /// No CloudEvents.
    Plain,
}

/// The name of a target, which its section has: lower-case letters, digits, `-` and `_`.
pub type TargetName = ProviderName;

impl TargetSettings {
    /// The queue whose messages go to the target of this name.
    pub fn queue_of(&self, name: &TargetName) -> Result<QueueName, Invalid> {
        self.queue.clone().map_or_else(|| QueueName::new(name.as_str()), Ok)
    }

    /// The route of messages, with all settings set.
    pub fn route(&self) -> Option<Route> {
        let describe = || {
            let (source, kind) = (self.source.clone()?, self.kind.clone()?);
            Some(EventDescription { source, kind, subject: self.subject.clone() })
        };
        let events = match self.events? {
            EventChoice::Plain => EventMode::Plain,
            EventChoice::Binary => EventMode::Binary(describe()?),
            EventChoice::Structured => EventMode::Structured(describe()?),
        };
        Some(Route { place: self.place.clone()?, events })
    }

    /// Whether a secret is kept in a file.
    pub(crate) fn has_secret_files(&self) -> bool {
        self.password.file.is_some() || self.token.file.is_some()
    }

    /// The same settings with the secrets themselves in place of where they are kept; says why one cannot be read.
    pub(crate) fn with_secrets(&self) -> Result<Self, String> {
        let read = |source: &SecretSource| {
            source.read().map(|value| SecretSource { value, ..SecretSource::default() })
        };
        Ok(Self { password: read(&self.password)?, token: read(&self.token)?, ..self.clone() })
    }

    /// These settings where they are set, the others where not.
    pub(super) fn over(&self, other: &Self) -> Self {
        let source = |own: &SecretSource, other: &SecretSource| {
            if own.is_set() { own.clone() } else { other.clone() }
        };
        let (own, other) = (self.clone(), other.clone());
        Self {
            queue: own.queue,
            to: own.to.or(other.to),
            place: own.place.or(other.place),
            events: own.events.or(other.events),
            source: own.source.or(other.source),
            kind: own.kind.or(other.kind),
            subject: own.subject.or(other.subject),
            user: own.user.or(other.user),
            password: source(&own.password, &other.password),
            token: source(&own.token, &other.token),
            certificates: own.certificates.or(other.certificates),
            max_len: own.max_len.or(other.max_len),
        }
    }

    /// The keys of a target's section that the defaults have too.
    pub(super) fn each(&mut self, section: &str, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        let key = |name: &str| format!("{section}.{name}");
        visit(&key("to"), &mut self.to);
        visit(&key("place"), &mut self.place);
        visit(&key("events"), &mut self.events);
        visit(&key("source"), &mut self.source);
        visit(&key("type"), &mut self.kind);
        visit(&key("subject"), &mut self.subject);
        visit(&key("user"), &mut self.user);
        self.password.each(&key("password"), visit);
        self.token.each(&key("token"), visit);
        visit(&key("certificates"), &mut self.certificates);
        visit(&key("max_len"), &mut self.max_len);
    }
}

impl EventChoice {
    const WORDS: [(&'static str, Self); 3] =
        [("binary", Self::Binary), ("structured", Self::Structured), ("plain", Self::Plain)];
}

impl ConfigValue for EventChoice {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &Self::WORDS)
    }

    fn write(&self) -> String {
        quoted(name(*self, &Self::WORDS))
    }
}

impl ConfigValue for RouteTemplate {
    fn read(text: &str) -> Result<Self, String> {
        Self::new(text).map_err(|e| e.to_string())
    }

    fn write(&self) -> String {
        quoted(self.as_str())
    }
}
