use claimstream_domain::notification::provider::ProviderName;

use super::setting::{ConfigValue, quoted};

/// Names of providers, in the order in which they are asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderList(Vec<ProviderName>);

impl ProviderList {
    /// The names.
    pub fn names(&self) -> &[ProviderName] {
        &self.0
    }
}

impl ConfigValue for ProviderList {
    fn read(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(|name| ProviderName::new(name.trim()).map_err(|e| e.to_string()));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            Some((_, twice)) => Err(format!("the provider {twice:?} is listed twice; list it once")),
            None => Ok(Self(names)),
        }
    }

    fn write(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(ProviderName::as_str).collect();
        quoted(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_separated_by_commas_and_listed_once() {
        let list = ProviderList::read("ses , postmark").unwrap();
        assert_eq!(list.write(), "\"ses, postmark\"");
        assert!(ProviderList::read("ses,ses").unwrap_err().contains("listed twice"));
        assert!(ProviderList::read("ses,").is_err() && ProviderList::read("S E S").is_err());
    }
}
