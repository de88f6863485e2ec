use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// What a recipient reads: a title, a body, or both.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The subject line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Where a click leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_url: Option<String>,
    /// A picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_url: Option<String>,
}

impl Content {
    /// Refuses content without a title and a body.
    pub fn check(&self) -> Result<(), Invalid> {
        match (&self.title, &self.body) {
            (None, None) => Err(Invalid::Empty { what: "content (title and body)" }),
            _ => Ok(()),
        }
    }
}

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
    /// `{{name}}` or somebody else's value.
    pub fn render(&self, params: &BTreeMap<String, String>) -> Result<Content, Invalid> {
        let title = self.title.as_deref().map(|text| fill(text, params)).transpose()?;
        let body = Some(fill(&self.body, params)?);
        Ok(Content { title, body, redirect_url: None, image_url: None })
    }
}

fn fill(text: &str, params: &BTreeMap<String, String>) -> Result<String, Invalid> {
    let malformed = |why: String| Invalid::Malformed { what: "template", why };
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) =
            after.split_once("}}").ok_or_else(|| malformed("a '{{' has no '}}'".to_owned()))?;
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
    fn refuses_a_missing_variable_and_an_open_brace() {
        let template = |body: &str| Template { title: None, body: body.into() };
        assert!(template("{{name}}").render(&params(&[])).is_err());
        assert!(template("{{name").render(&params(&[("name", "x")])).is_err());
    }
}
