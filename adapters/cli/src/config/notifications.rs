use std::path::PathBuf;

use claimstream_notifications::{DigestRules, RequestConfig};

use super::{
    consents::ConsentSettings, contradiction::Contradiction, digests::CategoryDigests, setting::Setting,
};

/// Whom notifications reach, and what they say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotificationSettings {
    /// A JSON file of users and segments; without one recipients are known by address only.
    pub directory: Option<PathBuf>,
    /// A JSON file of templates; there is none without one.
    pub templates: Option<PathBuf>,
    /// The most recipients that one step of a fan-out handles, 1 to 10 000; 1 000 by default.
    pub chunk: u32,
    /// The categories whose messages become one; none by default.
    pub category_digests: Option<CategoryDigests>,
    /// What recipients want, and what holds for those that say nothing.
    pub consents: ConsentSettings,
}

impl NotificationSettings {
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visit("notifications.directory", &mut self.directory);
        visit("notifications.templates", &mut self.templates);
        visit("notifications.chunk", &mut self.chunk);
        visit("notifications.category_digests", &mut self.category_digests);
        self.consents.each(visit);
    }

    /// Which messages wait for a digest.
    pub(crate) fn digests(&self) -> DigestRules {
        self.category_digests.as_ref().map(CategoryDigests::rules).unwrap_or_default()
    }

    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        let limit = RequestConfig::MAX_CHUNK;
        let allowed = (1..=limit).contains(&self.chunk);
        (!allowed).then(|| ("notifications.chunk".into(), format!("use 1 to {limit} recipients")))
    }
}

impl Default for NotificationSettings {
    fn default() -> Self {
        Self {
            directory: None,
            templates: None,
            chunk: RequestConfig::default().chunk,
            category_digests: None,
            consents: ConsentSettings::default(),
        }
    }
}
