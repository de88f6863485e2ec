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
    /// The longest title, in bytes.
    pub const MAX_TITLE_BYTES: usize = 1024;
    /// The longest body, in bytes.
    pub const MAX_BODY_BYTES: usize = 64 * 1024;
    /// The longest address of a page or a picture, in bytes.
    pub const MAX_URL_BYTES: usize = 2048;

    /// Refuses content without a title and a body, and any part that is empty or too long.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.title.is_none() && self.body.is_none() {
            return Err(Invalid::Empty { what: "content (title and body)" });
        }
        let parts = [
            ("title", &self.title, Self::MAX_TITLE_BYTES),
            ("body", &self.body, Self::MAX_BODY_BYTES),
            ("redirect_url", &self.redirect_url, Self::MAX_URL_BYTES),
            ("image_url", &self.image_url, Self::MAX_URL_BYTES),
        ];
        parts.into_iter().try_for_each(|(what, part, most)| match part {
            Some(text) => Invalid::unless_length(what, text, most),
            None => Ok(()),
        })
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
    /// `{{name}}` or somebody else's value. What comes out is refused as [`Content::check`] refuses it.
    pub fn render(&self, params: &BTreeMap<String, String>) -> Result<Content, Invalid> {
        let title = self.title.as_deref().map(|text| fill(text, params)).transpose()?;
        let body = Some(fill(&self.body, params)?);
        let content = Content { title, body, redirect_url: None, image_url: None };
        content.check().map(|()| content)
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
    fn refuses_what_nobody_can_read() {
        let content = |title: Option<&str>, body: Option<String>| {
            Content { title: title.map(str::to_owned), body, ..Content::default() }.check()
        };
        assert_eq!(content(Some("Hello"), None), Ok(()));
        assert_eq!(content(None, Some("x".repeat(Content::MAX_BODY_BYTES))), Ok(()));
        assert!(matches!(content(None, None), Err(Invalid::Empty { .. })));
        assert_eq!(content(Some(""), Some("text".into())), Err(Invalid::Empty { what: "title" }));
        assert_eq!(content(Some("Hello"), Some(String::new())), Err(Invalid::Empty { what: "body" }));
        let long = content(None, Some("x".repeat(Content::MAX_BODY_BYTES + 1)));
        assert!(matches!(long, Err(Invalid::TooLong { what: "body", .. })));
        let long = content(Some(&"x".repeat(Content::MAX_TITLE_BYTES + 1)), None);
        assert!(matches!(long, Err(Invalid::TooLong { what: "title", .. })));
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
}
