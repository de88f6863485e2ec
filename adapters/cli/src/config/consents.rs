use claimstream_notifications::{
    Consents, UnsubscribeLinks,
    consent::{Category, CategoryRules, ConsentRules, QuietHours, TimeZone, UnsubscribeKeys},
};
use claimstream_sea_orm::SeaOrmOutbox;

use super::{
    error::ConfigError,
    secret::SecretSource,
    setting::{ConfigValue, Setting, quoted},
};

/// What holds for recipients that say nothing else, and how they opt out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConsentSettings {
    /// The zone of recipients that name none; UTC by default.
    pub time_zone: TimeZone,
    /// The quiet hours of recipients and categories that have none of their own; none by default.
    pub quiet_hours: Option<QuietHours>,
    /// The categories that recipients cannot opt out of.
    pub required_categories: Option<CategoryList>,
    /// The quiet hours of categories.
    pub category_quiet_hours: Option<CategoryHours>,
    /// What unsubscribe links begin with; there are none without it.
    pub unsubscribe_url: Option<String>,
    /// The key that signs unsubscribe links, at least 32 bytes.
    pub unsubscribe_key: SecretSource,
    /// The key that signed them before; its links work while it is set.
    pub unsubscribe_old_key: SecretSource,
}

/// Categories, written with commas between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CategoryList(pub Vec<Category>);

/// Categories with their quiet hours, written like `marketing 20:00-10:00, orders none`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CategoryHours(pub Vec<(Category, QuietHours)>);

impl ConsentSettings {
    /// What both pipelines ask; fails with the key of a secret that cannot be read or used.
    pub fn consents(&self, outbox: &SeaOrmOutbox) -> Result<Consents, ConfigError> {
        let consents = Consents::new(std::sync::Arc::new(outbox.clone()), self.rules());
        Ok(match self.unsubscribe_links()? {
            Some(links) => consents.with_links(links),
            None => consents,
        })
    }

    /// The links that messages carry, if an address is set for them; fails if it or a key cannot be used.
    pub fn unsubscribe_links(&self) -> Result<Option<UnsubscribeLinks>, ConfigError> {
        let keys = self.unsubscribe_keys()?;
        let Some(base) = &self.unsubscribe_url else { return Ok(None) };
        let refused = |why: String| ConfigError::new(format!("`notifications.unsubscribe_url`: {why}"));
        let keys =
            keys.ok_or_else(|| refused("links are signed; set notifications.unsubscribe_key too".into()))?;
        UnsubscribeLinks::new(base, keys).map(Some).map_err(|e| refused(e.to_string()))
    }

    /// The keys of unsubscribe links, if there are any; fails if one cannot be read or used.
    pub fn unsubscribe_keys(&self) -> Result<Option<UnsubscribeKeys>, ConfigError> {
        let read = |source: &SecretSource, key: &str| {
            source.read().map_err(|why| ConfigError::new(format!("`notifications.{key}`: {why}")))
        };
        let Some(new) = read(&self.unsubscribe_key, "unsubscribe_key")? else { return Ok(None) };
        let old = read(&self.unsubscribe_old_key, "unsubscribe_old_key")?;
        let keys = [Some(&new), old.as_ref()].into_iter().flatten().map(|secret| secret.reveal().as_bytes());
        let keys = UnsubscribeKeys::new(keys);
        keys.map(Some).map_err(|e| ConfigError::new(format!("`notifications.unsubscribe_key`: {e}")))
    }

    fn rules(&self) -> ConsentRules {
        let mut rules = ConsentRules {
            quiet_hours: self.quiet_hours,
            time_zone: self.time_zone.clone(),
            ..ConsentRules::default()
        };
        let mut of = |category: &Category, set: &dyn Fn(&mut CategoryRules)| {
            set(rules.categories.entry(category.clone()).or_default());
        };
        for category in self.required_categories.iter().flat_map(|list| &list.0) {
            of(category, &|rules| rules.required = true);
        }
        for (category, hours) in self.category_quiet_hours.iter().flat_map(|list| &list.0) {
            of(category, &|rules| rules.quiet_hours = Some(*hours));
        }
        rules
    }

    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visit("notifications.time_zone", &mut self.time_zone);
        visit("notifications.quiet_hours", &mut self.quiet_hours);
        visit("notifications.required_categories", &mut self.required_categories);
        visit("notifications.category_quiet_hours", &mut self.category_quiet_hours);
        visit("notifications.unsubscribe_url", &mut self.unsubscribe_url);
        self.unsubscribe_key.each("notifications.unsubscribe_key", visit);
        self.unsubscribe_old_key.each("notifications.unsubscribe_old_key", visit);
    }
}

impl ConfigValue for TimeZone {
    fn read(text: &str) -> Result<Self, String> {
        text.trim().parse().map_err(|e: claimstream_domain::Invalid| e.to_string())
    }

    fn write(&self) -> String {
        quoted(self.name())
    }
}

impl ConfigValue for QuietHours {
    fn read(text: &str) -> Result<Self, String> {
        text.trim().parse().map_err(|e: claimstream_domain::Invalid| e.to_string())
    }

    fn write(&self) -> String {
        quoted(&self.to_string())
    }
}

impl ConfigValue for CategoryList {
    fn read(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(|name| Category::new(name.trim()).map_err(|e| e.to_string()));
        names.collect::<Result<_, _>>().map(Self)
    }

    fn write(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(Category::as_str).collect();
        quoted(&names.join(", "))
    }
}

impl ConfigValue for CategoryHours {
    fn read(text: &str) -> Result<Self, String> {
        let one = |text: &str| {
            let (name, hours) = text.trim().split_once(' ').ok_or_else(|| {
                format!("{:?} is not a category and its hours, like \"marketing 20:00-10:00\"", text.trim())
            })?;
            Ok((Category::new(name).map_err(|e| e.to_string())?, QuietHours::read(hours)?))
        };
        text.split(',').map(one).collect::<Result<_, _>>().map(Self)
    }

    fn write(&self) -> String {
        let all: Vec<String> = self.0.iter().map(|(name, hours)| format!("{name} {hours}")).collect();
        quoted(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_they_are_written() {
        let hours = CategoryHours::read("marketing 20:00-10:00, orders  none").unwrap();
        assert_eq!(hours.write(), "\"marketing 20:00-10:00, orders none\"");
        assert!(CategoryHours::read("marketing").unwrap_err().contains("like \"marketing 20:00-10:00\""));
        let list = CategoryList::read("security,legal").unwrap();
        assert_eq!(list.write(), "\"security, legal\"");
        assert!(CategoryList::read("a b").is_err());
    }

    #[test]
    fn a_key_that_is_too_short_is_refused_by_its_name() {
        let mut settings = ConsentSettings::default();
        assert!(settings.unsubscribe_keys().unwrap().is_none());
        settings.unsubscribe_key.value = Some(crate::config::Secret::new("hunter2"));
        let why = settings.unsubscribe_keys().unwrap_err().to_string();
        assert!(why.contains("notifications.unsubscribe_key") && !why.contains("hunter2"), "{why}");
        settings.unsubscribe_key.value = Some(crate::config::Secret::new("x".repeat(32)));
        assert!(settings.unsubscribe_keys().unwrap().is_some());
    }
}
