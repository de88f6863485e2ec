use std::time::Duration;

use claimstream_channels::Endpoint;
use claimstream_notifications::TemplateAge;

use super::{
    contradiction::Contradiction,
    secret::SecretSource,
    setting::{ConfigValue, Setting, quoted, word},
};

/// Where templates are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Templates {
    /// What kind of place it is; a file by default.
    pub source: TemplatePlace,
    /// Where `http` asks for templates.
    pub url: Option<Endpoint>,
    /// The token that `http` shows.
    pub token: SecretSource,
    /// How long an answer of `http` may take; 10 s by default.
    pub timeout: Duration,
    /// How old templates of `database` and `http` may be.
    pub age: TemplateAge,
}

/// A kind of place for templates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TemplatePlace {
    /// The JSON file of `notifications.templates`.
    File,
    /// The database of the outbox.
    Database,
    /// A server, such as `claimstream serve`.
    Http,
    /// There are none.
    None,
}

impl TemplatePlace {
    const WORDS: [(&'static str, Self); 4] =
        [("file", Self::File), ("database", Self::Database), ("http", Self::Http), ("none", Self::None)];

    /// The word in the configuration.
    pub fn name(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, place)| *place == self).map_or("", |(name, _)| name)
    }
}

impl Templates {
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visit("templates.source", &mut self.source);
        visit("templates.url", &mut self.url);
        self.token.each("templates.token", visit);
        visit("templates.timeout", &mut self.timeout);
        visit("templates.fresh", &mut self.age.fresh);
        visit("templates.stale", &mut self.age.stale);
    }

    /// What goes against the file that `notifications.templates` names, or among these settings.
    pub(super) fn contradictions(&self, has_file: bool) -> Vec<Contradiction> {
        let mut found: Vec<Contradiction> = Vec::new();
        let mut refuse = |key: &str, why: &str| found.push((key.into(), why.into()));
        if self.source != TemplatePlace::File && has_file {
            let why = "templates.source names another place; remove one of the two";
            refuse("notifications.templates", why);
        }
        if self.source == TemplatePlace::Http && self.url.is_none() {
            refuse("templates.source", "set templates.url for http");
        }
        if self.timeout.is_zero() {
            refuse("templates.timeout", "it must be more than nothing");
        }
        if self.age.stale < self.age.fresh {
            refuse("templates.stale", "it must be at least templates.fresh");
        }
        found
    }
}

impl ConfigValue for TemplatePlace {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &Self::WORDS)
    }

    fn write(&self) -> String {
        quoted(self.name())
    }
}

impl Default for Templates {
    fn default() -> Self {
        let age = TemplateAge { fresh: Duration::from_secs(2), stale: Duration::from_secs(600) };
        let timeout = Duration::from_secs(10);
        Self { source: TemplatePlace::File, url: None, token: SecretSource::default(), timeout, age }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_what_it_needs_and_nothing_of_another() {
        let found = |edit: fn(&mut Templates), has_file| {
            let mut templates = Templates::default();
            edit(&mut templates);
            templates.contradictions(has_file).into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        assert_eq!(found(|_| (), true), [""; 0]);
        assert_eq!(found(|t| t.source = TemplatePlace::Database, false), [""; 0]);
        assert_eq!(found(|t| t.source = TemplatePlace::Database, true), ["notifications.templates"]);
        assert_eq!(found(|t| t.source = TemplatePlace::None, true), ["notifications.templates"]);
        assert_eq!(found(|t| t.source = TemplatePlace::Http, false), ["templates.source"]);
        assert_eq!(found(|t| t.age.stale = Duration::ZERO, false), ["templates.stale"]);
        assert_eq!(TemplatePlace::read("http").map(TemplatePlace::name), Ok("http"));
    }
}
