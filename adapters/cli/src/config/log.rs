use super::setting::{ConfigValue, Setting, quoted, word};

/// The log's level and format; logs go to the standard error.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Log {
    /// The least severe that is logged; by default `info` for the relay and `warn` for other commands.
    pub level: Option<LogLevel>,
    /// How a line looks; `text` by default.
    pub format: LogFormat,
}

/// How severe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What an operator must act on.
    Error,
    /// What an operator should know.
    Warn,
    /// What happened.
    Info,
    /// How it happened.
    Debug,
    /// Every step.
    Trace,
}

/// How a line of the log looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object, for programs.
    Json,
}

impl Log {
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visit("log.level", &mut self.level);
        visit("log.format", &mut self.format);
    }
}

impl LogLevel {
    const WORDS: [(&'static str, Self); 6] = [
        ("off", Self::Off),
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];
}

impl LogFormat {
    const WORDS: [(&'static str, Self); 2] = [("text", Self::Text), ("json", Self::Json)];
}

impl ConfigValue for LogLevel {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &Self::WORDS)
    }

    fn write(&self) -> String {
        quoted(name(*self, &Self::WORDS))
    }
}

impl ConfigValue for LogFormat {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &Self::WORDS)
    }

    fn write(&self) -> String {
        quoted(name(*self, &Self::WORDS))
    }
}

/// The word of a value.
pub(super) fn name<T: PartialEq>(value: T, words: &[(&'static str, T)]) -> &'static str {
    words.iter().find(|(_, word)| *word == value).map_or("", |(name, _)| name)
}
