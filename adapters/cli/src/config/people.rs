use super::{
    contradiction::Contradiction,
    log::name,
    notifications::Notifications,
    setting::{Setting, Written, quoted, word},
};

/// Where users and segments are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DirectorySettings {
    /// The kind of directory; `file` by default.
    pub source: DirectorySource,
}

/// A kind of directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DirectorySource {
    /// The JSON file that `notifications.directory` names, read at the start.
    #[default]
    File,
    /// The tables of the outbox's database.
    Database,
}

impl DirectorySource {
    const WORDS: [(&'static str, Self); 2] = [("file", Self::File), ("database", Self::Database)];
}

impl Written for DirectorySource {
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
    }

    pub(super) fn contradiction(&self, notifications: &Notifications) -> Option<Contradiction> {
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
