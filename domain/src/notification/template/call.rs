use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::TemplateFault;

/// The use of a template: which one, and what its variables stand for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateCall {
    /// The template's id.
    pub id: String,
    /// The value of each variable.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

impl TemplateCall {
    /// Refuses parameters that a template with these variables, of all its channels and languages, does not use: by name.
    pub fn refuse_surplus(&self, variables: &BTreeSet<String>) -> Result<(), TemplateFault> {
        let surplus: Vec<String> =
            self.params.keys().filter(|name| !variables.contains(*name)).cloned().collect();
        match surplus.is_empty() {
            true => Ok(()),
            false => Err(TemplateFault::Surplus { id: self.id.clone(), names: surplus }),
        }
    }

    /// Refuses to leave out a variable that needs a value: by name.
    pub fn refuse_missing<'a>(
        &self,
        needed: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), TemplateFault> {
        let missing: Vec<String> =
            needed.into_iter().filter(|name| !self.params.contains_key(*name)).cloned().collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(TemplateFault::Missing { id: self.id.clone(), names: missing }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surplus_and_missing_parameters_are_refused_by_name() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let variables = names(&["a", "b"]);
        let call = |given: &[&str]| {
            let params = given.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect();
            TemplateCall { id: "t".into(), params }
        };
        let good = call(&["a", "b"]);
        assert_eq!((good.refuse_surplus(&variables), good.refuse_missing(&variables)), (Ok(()), Ok(())));
        let surplus = call(&["a", "x", "y"]).refuse_surplus(&variables).unwrap_err();
        assert_eq!(surplus.to_string(), r#"the template "t" has no variable "x", "y""#);
        let missing = call(&["x"]).refuse_missing(&variables).unwrap_err();
        assert_eq!(missing.to_string(), r#"the template "t" needs a value for "a", "b""#);
    }
}
