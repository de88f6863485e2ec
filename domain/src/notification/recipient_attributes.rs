use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Invalid;

/// What a directory knows of a recipient besides addresses, such as a name or a plan: JSON values by name.
///
/// Templates read them. They are no part of a record, so what is kept of a notification does not hold them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, Value>", into = "BTreeMap<String, Value>")]
pub struct Attributes(BTreeMap<String, Value>);

impl Attributes {
    /// The most that all attributes of a recipient have, in bytes of JSON.
    pub const MAX_BYTES: usize = 16 * 1024;
    /// The longest name of an attribute, in bytes.
    pub const MAX_NAME_BYTES: usize = 64;

    /// Takes attributes; refuses a name that a template could not write, and more than [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn new(attributes: BTreeMap<String, Value>) -> Result<Self, Invalid> {
        attributes.keys().try_for_each(|name| check_name(name))?;
        let json = serde_json::to_vec(&attributes)
            .map_err(|e| Invalid::Malformed { what: "attributes", why: e.to_string() })?;
        match json.len() {
            len if len > Self::MAX_BYTES => {
                Err(Invalid::TooLong { what: "attributes", len, max: Self::MAX_BYTES })
            }
            _ => Ok(Self(attributes)),
        }
    }

    /// The attribute of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn check_name(name: &str) -> Result<(), Invalid> {
    Invalid::unless_length("attribute name", name, Attributes::MAX_NAME_BYTES)?;
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let stranger = name.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '_');
    match stranger.or(name.chars().next().filter(|_| !begins)) {
        None => Ok(()),
        Some(found) => Err(Invalid::Character {
            what: "attribute name",
            found,
            allowed: "use ASCII letters, digits and '_', and begin with no digit",
        }),
    }
}

impl TryFrom<BTreeMap<String, Value>> for Attributes {
    type Error = Invalid;

    fn try_from(attributes: BTreeMap<String, Value>) -> Result<Self, Invalid> {
        Self::new(attributes)
    }
}

impl From<Attributes> for BTreeMap<String, Value> {
    fn from(attributes: Attributes) -> Self {
        attributes.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Attributes, String> {
        serde_json::from_str(json).map_err(|e| e.to_string())
    }

    #[test]
    fn values_are_json_and_read_back() {
        let json = r#"{"_seats":3,"name":"Ann","tags":["a",{"b":null}]}"#;
        let attributes = read(json).unwrap();
        assert_eq!(attributes.get("name"), Some(&Value::from("Ann")));
        assert_eq!(serde_json::to_string(&attributes).unwrap(), json);
    }

    #[test]
    fn a_name_that_a_template_could_not_write_is_refused() {
        for name in ["first name", "a.b", "a-b", "1st", "ä", ""] {
            let refused = read(&format!(r#"{{"{name}":"x"}}"#)).unwrap_err();
            assert!(refused.contains("attribute name"), "{refused}");
        }
        assert!(read(&format!(r#"{{"{}":1}}"#, "a".repeat(65))).is_err());
    }

    #[test]
    fn more_than_the_most_is_refused() {
        let of = |bytes: usize| read(&format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8)));
        assert!(of(Attributes::MAX_BYTES).is_ok());
        assert!(of(Attributes::MAX_BYTES + 1).unwrap_err().contains("at most 16384 are allowed"));
    }
}
