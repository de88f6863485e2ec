/// Every key that exists, as `section.key`.
#[derive(Debug)]
pub(super) struct ConfigKeys(Vec<String>);

impl ConfigKeys {
    pub(super) fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.iter().any(|known| known == name)
    }

    /// The keys that say the same thing in other ways: a secret, the variable and the file it is kept in.
    pub(super) fn alternatives<'a>(&self, name: &'a str) -> Vec<String> {
        let base = |suffix| name.strip_suffix(suffix).filter(|base| self.contains(base));
        let base: &'a str = base("_env").or_else(|| base("_file")).unwrap_or(name);
        let group = [base.to_owned(), format!("{base}_env"), format!("{base}_file")];
        match group.iter().all(|name| self.contains(name)) {
            true => group.into_iter().filter(|other| other != name).collect(),
            false => Vec::new(),
        }
    }

    /// What to say of a name that is no key: that it is a section, which key it resembles, or which keys there are.
    pub(super) fn hint(&self, name: &str, spell: impl Fn(&str) -> String) -> String {
        let within = |section: &str| {
            let start = format!("{section}.");
            let inside: Vec<String> =
                self.iter().filter(|known| known.starts_with(&start)).map(&spell).collect();
            (!inside.is_empty()).then(|| inside.join(", "))
        };
        if let Some(inside) = within(name) {
            return format!("it is a section; it holds {inside}");
        }
        if let Some(known) = nearest(name, self.iter()) {
            return format!("did you mean `{}`?", spell(known));
        }
        let section = name.rsplit_once('.').and_then(|(section, _)| within(section));
        match section {
            Some(inside) => format!("the section holds {inside}"),
            None => format!("the sections are {}", self.sections().join(", ")),
        }
    }

    fn sections(&self) -> Vec<&str> {
        let mut sections: Vec<&str> =
            self.iter().filter_map(|known| known.split_once('.').map(|(section, _)| section)).collect();
        sections.dedup();
        sections
    }
}

/// The one of `known` that `name` was probably meant to be.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, best) =
        known.map(|known| (strsim::damerau_levenshtein(name, known), known)).min_by_key(|(d, _)| *d)?;
    (distance <= (best.chars().count() / 4).clamp(1, 3)).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_misspelt_key_has_a_nearest_one() {
        let keys = Config::known();
        assert_eq!(nearest("relay.bacth", keys.iter()), Some("relay.batch"));
        assert_eq!(nearest("realy.batch", keys.iter()), Some("relay.batch"));
        assert_eq!(nearest("databse.url", keys.iter()), Some("database.url"));
        assert_eq!(nearest("colour", keys.iter()), None);
    }

    #[test]
    fn a_section_is_distinguished_from_a_key() {
        let keys = Config::known();
        let spell = |name: &str| name.to_owned();
        assert!(keys.hint("log", spell).starts_with("it is a section; it holds log.level"));
        assert!(keys.hint("log.colour_of_it_all", spell).starts_with("the section holds log.level"));
        assert!(keys.hint("colour", spell).starts_with("the sections are database, relay"));
    }

    #[test]
    fn a_secret_has_three_ways_to_be_given() {
        let keys = Config::known();
        assert_eq!(
            keys.alternatives("database.password_env"),
            ["database.password", "database.password_file"]
        );
        assert_eq!(keys.alternatives("channels.sms.secret").len(), 2);
        assert!(keys.alternatives("channels.sms.file").is_empty());
        assert!(keys.alternatives("database.url").is_empty());
    }
}
