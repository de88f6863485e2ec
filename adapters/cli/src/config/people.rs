use std::time::Duration;

use claimstream_channels::Endpoint;

use super::{
    contradiction::Contradiction,
    log::name,
    notifications::NotificationSettings,
    secret::SecretSource,
    setting::{ConfigValue, Setting, quoted, word},
};

/// Where users and segments are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DirectorySettings {
    /// The kind of directory; `file` by default.
    pub source: DirectorySource,
    /// Where `http` asks for users and segments.
    pub url: Option<Endpoint>,
    /// The token that `http` shows.
    pub token: SecretSource,
    /// How long an answer of `http` may take; 10 s by default.
    pub timeout: Duration,
    /// For how long a user of `http` serves without a question; 30 s by default.
    pub fresh: Duration,
}

impl Default for DirectorySettings {
    fn default() -> Self {
        Self {
            source: DirectorySource::File,
            url: None,
            token: SecretSource::default(),
            timeout: Duration::from_secs(10),
            fresh: Duration::from_secs(30),
        }
    }
}

/// A kind of directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DirectorySource {
    /// The JSON file that `notifications.directory` names, read at the start.
    #[default]
    File,
    /// The tables of the outbox's database.
    Database,
    /// A server, such as `claimstream serve` with the directory in its database.
    Http,
    /// There is none: only recipients with an address of their own are reached.
    None,
}

impl DirectorySource {
    const WORDS: [(&'static str, Self); 4] =
        [("file", Self::File), ("database", Self::Database), ("http", Self::Http), ("none", Self::None)];
}

impl ConfigValue for DirectorySource {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &Self::WORDS)
    }

    fn write(&self) -> String {
        quoted(name(*self, &Self::WORDS))
    }
}

impl DirectorySettings {
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visit("directory.source", &mut self.source);
        visit("directory.url", &mut self.url);
        self.token.each("directory.token", visit);
        visit("directory.timeout", &mut self.timeout);
        visit("directory.fresh", &mut self.fresh);
    }

    pub(super) fn contradictions(&self, notifications: &NotificationSettings) -> Vec<Contradiction> {
        let mut found = Vec::new();
        if self.source == DirectorySource::Http && self.url.is_none() {
            found.push(("directory.source".into(), "set directory.url for http".into()));
        }
        if self.timeout.is_zero() {
            found.push(("directory.timeout".into(), "it must be more than nothing".into()));
        }
        found.extend(self.contradiction_of_file(notifications));
        found
    }

    fn contradiction_of_file(&self, notifications: &NotificationSettings) -> Option<Contradiction> {
        let is_unread = self.source != DirectorySource::File && notifications.directory.is_some();
        is_unread.then(|| {
            let word = name(self.source, &DirectorySource::WORDS);
            let why = format!(
                "the file of notifications.directory is not read under directory.source = \"{word}\"; set one of them"
            );
            ("notifications.directory".into(), why)
        })
    }
}
