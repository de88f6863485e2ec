use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Content;
use crate::Invalid;

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

/// A template for one channel and language; `{{name}}` stands for a variable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// The subject line.
    #[serde(default)]
    pub title: Option<String>,
    /// The text.
    pub body: String,
}

impl Template {
    /// Fills in the variables, each exactly once; a variable without a value is an error, so that nobody ever reads
    /// `{{name}}` or somebody else's value. What comes out is refused as [`Content::check`] refuses it.
    pub fn render(&self, params: &BTreeMap<String, String>) -> Result<Content, Invalid> {
        let title = self.title.as_deref().map(|text| fill(text, params)).transpose()?;
        let body = Some(fill(&self.body, params)?);
        let content = Content { title, body, ..Content::default() };
        content.check().map(|()| content)
    }

    /// The variables that it needs a value for; an error if it is malformed.
    pub fn variables(&self) -> Result<BTreeSet<String>, Invalid> {
        let mut names = BTreeSet::new();
        for text in self.title.iter().chain([&self.body]) {
            let mut rest = text.as_str();
            while let Some((_, after)) = rest.split_once("{{") {
                let (name, after) = after.split_once("}}").ok_or_else(open_brace)?;
                names.insert(name.trim().to_owned());
                rest = after;
            }
        }
        Ok(names)
    }
}

fn open_brace() -> Invalid {
    Invalid::Malformed { what: "template", why: "a '{{' has no '}}'".to_owned() }
}

impl TemplateCall {
    /// Refuses parameters that a template with these variables, of all its channels and languages, does not use: by name.
    pub fn refuse_surplus(&self, variables: &BTreeSet<String>) -> Result<(), Invalid> {
        let surplus: Vec<&str> =
            self.params.keys().filter(|name| !variables.contains(*name)).map(String::as_str).collect();
        match surplus.as_slice() {
            [] => Ok(()),
            names => Err(Invalid::Contradiction(format!(
                "the template {:?} has no variable {}",
                self.id,
                quoted(names)
            ))),
        }
    }

    /// Refuses to leave out a variable that one of its channels and languages needs: by name.
    pub fn refuse_missing(&self, template: &Template) -> Result<(), Invalid> {
        let variables = template.variables()?;
        let missing: Vec<&str> =
            variables.iter().filter(|name| !self.params.contains_key(*name)).map(String::as_str).collect();
        match missing.as_slice() {
            [] => Ok(()),
            names => Err(Invalid::Contradiction(format!(
                "the template {:?} needs a value for {}",
                self.id,
                quoted(names)
            ))),
        }
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

fn fill(text: &str, params: &BTreeMap<String, String>) -> Result<String, Invalid> {
    let malformed = |why: String| Invalid::Malformed { what: "template", why };
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").ok_or_else(open_brace)?;
        let name = name.trim();
        let value =
            params.get(name).ok_or_else(|| malformed(format!("the variable {name:?} has no value")))?;
        filled.push_str(before);
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn fills_each_variable_once_and_never_twice() {
        let template = Template { title: Some("Hi {{ name }}".into()), body: "{{name}} {{x}}.".into() };
        let content = template.render(&params(&[("name", "{{x}}"), ("x", "1")])).unwrap();
        assert_eq!(content.title.as_deref(), Some("Hi {{x}}"));
        assert_eq!(content.body.as_deref(), Some("{{x}} 1."));
    }

    #[test]
    fn a_template_that_comes_to_too_much_or_to_nothing_is_refused() {
        let template = Template { title: None, body: "{{all}}".into() };
        let long = "x".repeat(Content::MAX_BODY_BYTES + 1);
        assert!(matches!(template.render(&params(&[("all", &long)])), Err(Invalid::TooLong { .. })));
        assert!(matches!(template.render(&params(&[("all", "")])), Err(Invalid::Empty { .. })));
    }

    #[test]
    fn refuses_a_missing_variable_and_an_open_brace() {
        let template = |body: &str| Template { title: None, body: body.into() };
        assert!(template("{{name}}").render(&params(&[])).is_err());
        assert!(template("{{name").render(&params(&[("name", "x")])).is_err());
    }

    #[test]
    fn surplus_and_missing_parameters_are_refused_by_name() {
        let template = Template { title: Some("{{ a }}".into()), body: "{{b}} and {{a}}".into() };
        let variables = template.variables().unwrap();
        let call = |pairs| TemplateCall { id: "t".into(), params: params(pairs) };
        let good = call(&[("a", "1"), ("b", "2")]);
        assert_eq!((good.refuse_surplus(&variables), good.refuse_missing(&template)), (Ok(()), Ok(())));
        let surplus = call(&[("a", "1"), ("x", "2"), ("y", "3")]).refuse_surplus(&variables).unwrap_err();
        assert!(surplus.to_string().contains("has no variable \"x\", \"y\""), "{surplus}");
        let missing = call(&[("x", "2")]).refuse_missing(&template).unwrap_err();
        assert!(missing.to_string().contains("needs a value for \"a\", \"b\""), "{missing}");
    }
}
