use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    super::{Channel, Content},
    TemplatePart, identifier, language, statements,
};
use crate::Invalid;

/// What a template says, on all its channels and in all its languages, and which variables it has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// The language of those whose own has no text.
    pub default_language: String,
    /// Its variables. Without them the plain names in its texts are its variables, and texts have nothing but plain names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<BTreeMap<String, TemplateVariable>>,
    /// The texts by channel and language.
    pub texts: BTreeMap<Channel, BTreeMap<String, TemplateText>>,
}

/// A variable that a caller gives a value to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateVariable {
    /// Its value where the caller gives none; a variable without it must be given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// What it stands for, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What a template says on one channel in one language.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateText {
    /// The subject line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text.
    pub body: String,
    /// The same as a page, for channels that show one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
}

impl Template {
    /// The most variables.
    pub const MAX_VARIABLES: usize = 100;
    /// The most texts, of all channels together.
    pub const MAX_TEXTS: usize = 300;
    /// The most bytes of all its texts together.
    pub const MAX_BYTES: usize = 1024 * 1024;

    /// Refuses an id that cannot stand in a path of a file or of a URL.
    pub fn check_id(id: &str) -> Result<(), Invalid> {
        identifier::check_id(id)
    }

    /// Refuses bad names, parts that are too long, and statements that templates may not use.
    pub fn check(&self) -> Result<(), Invalid> {
        identifier::check_language(&self.default_language)?;
        self.check_variables()?;
        let texts = || self.texts.values().flatten();
        let sizes = texts().flat_map(|(_, text)| text.parts()).map(|(_, text)| text.len());
        Invalid::at_most("texts of a template", texts().count(), Self::MAX_TEXTS, "")?;
        Invalid::at_most("texts of a template", sizes.sum(), Self::MAX_BYTES, " bytes")?;
        for (channel, languages) in &self.texts {
            for (n, (tag, text)) in languages.iter().enumerate() {
                identifier::check_language(tag)?;
                if let Some(twin) = languages.keys().take(n).find(|other| language::is_same(other, tag)) {
                    return Err(Invalid::Contradiction(format!(
                        "the languages {twin:?} and {tag:?} of {channel} are the same"
                    )));
                }
                self.check_text(*channel, tag, text)?;
            }
        }
        Ok(())
    }

    /// The templates that its texts include.
    pub fn includes(&self) -> Result<BTreeSet<String>, Invalid> {
        let mut included = BTreeSet::new();
        for text in self.texts.values().flat_map(BTreeMap::values) {
            for (part, _) in text.parts() {
                included.extend(text.includes(part)?);
            }
        }
        Ok(included)
    }

    /// Refuses, with its place, text that would be left out as a comment though it is none. It is asked when a template is published: one that is
    /// published already stays as it is.
    pub fn refuse_hidden(&self) -> Result<(), Invalid> {
        for (channel, languages) in &self.texts {
            for (language, text) in languages {
                for (part, text) in text.parts() {
                    let shown = statements::refuse_hidden(text);
                    shown.map_err(|why| placed(*channel, language, part, &why))?;
                }
            }
        }
        Ok(())
    }

    /// The text for a channel in the language that comes nearest, and that language.
    pub fn text(&self, channel: Channel, language: Option<&str>) -> Option<(&str, &TemplateText)> {
        language::nearest(self.texts.get(&channel)?, language, &self.default_language)
    }

    fn check_variables(&self) -> Result<(), Invalid> {
        let Some(variables) = &self.variables else { return Ok(()) };
        Invalid::at_most("variables of a template", variables.len(), Self::MAX_VARIABLES, "")?;
        for (name, TemplateVariable { default, description }) in variables {
            identifier::check_variable(name)?;
            let longest = [default, description].into_iter().flatten().map(String::len).max().unwrap_or(0);
            Invalid::at_most("default and description of a variable", longest, 4096, " bytes")?;
        }
        Ok(())
    }

    fn check_text(&self, channel: Channel, language: &str, text: &TemplateText) -> Result<(), Invalid> {
        for (part, text) in text.parts() {
            let most = match part {
                TemplatePart::Title => Content::MAX_TITLE_BYTES,
                TemplatePart::Body => Content::MAX_BODY_BYTES,
                TemplatePart::Html => Content::MAX_HTML_BYTES,
            };
            Invalid::unless_length("text of a template", text, most)
                .and_then(|()| match &self.variables {
                    Some(_) => statements::includes(text).map(|_| ()),
                    None => statements::refuse_other_than_names(text),
                })
                .map_err(|why| placed(channel, language, part, &why))?;
        }
        Ok(())
    }
}

/// A fault with its place.
fn placed(channel: Channel, language: &str, part: TemplatePart, why: &Invalid) -> Invalid {
    let why = match why {
        Invalid::Malformed { why, .. } => why.clone(),
        other => other.to_string(),
    };
    let place = format!("{channel}, {language}, {}: {why}", part.name());
    Invalid::Malformed { what: "template", why: place }
}

impl TemplateText {
    /// Its parts, as far as it has them.
    pub fn parts(&self) -> impl Iterator<Item = (TemplatePart, &str)> {
        let parts = [
            (TemplatePart::Title, self.title.as_deref()),
            (TemplatePart::Body, Some(self.body.as_str())),
            (TemplatePart::Html, self.html.as_deref()),
        ];
        parts.into_iter().filter_map(|(part, text)| text.map(|text| (part, text)))
    }

    /// The templates that one of its parts includes.
    pub fn includes(&self, part: TemplatePart) -> Result<BTreeSet<String>, Invalid> {
        self.part(part).map_or_else(|| Ok(BTreeSet::new()), statements::includes)
    }

    /// One of its parts.
    pub fn part(&self, part: TemplatePart) -> Option<&str> {
        self.parts().find(|(of, _)| *of == part).map(|(_, text)| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(json: &str) -> Template {
        serde_json::from_str(json).unwrap()
    }

    fn body(body: &str) -> Template {
        let mut template =
            template(r#"{"default_language":"en","variables":{},"texts":{"sms":{"en":{"body":"x"}}}}"#);
        template.texts.get_mut(&Channel::Sms).unwrap().get_mut("en").unwrap().body = body.to_owned();
        template
    }

    #[test]
    fn a_fault_has_its_place_and_its_line() {
        let why = |body_text: &str| body(body_text).check().unwrap_err().to_string();
        assert_eq!(body("{{ a|upper }} {% include 'b' %}").check(), Ok(()));
        assert_eq!(
            why("a\n{% import 'x' %}"),
            "template is not valid: sms, en, body: line 2: templates have no statement \"import\""
        );
        assert!(why("").contains("sms, en, body: text of a template is empty"));
        let old = Template { variables: None, ..body("{{ a|upper }}") };
        assert!(old.check().unwrap_err().to_string().contains("line 1: {{ a|upper }} is no plain name"));
    }

    #[test]
    fn names_and_languages_are_checked() {
        let check = |json: &str| template(json).check().map_err(|e| e.to_string());
        assert!(check(r#"{"default_language":"","texts":{}}"#).is_err());
        assert!(
            check(r#"{"default_language":"en","variables":{"a-b":{}},"texts":{}}"#)
                .unwrap_err()
                .contains("\"a-b\" is no name")
        );
        assert!(
            check(r#"{"default_language":"en","variables":{"recipient":{}},"texts":{}}"#)
                .unwrap_err()
                .contains("taken")
        );
        let twins =
            r#"{"default_language":"en","texts":{"sms":{"de-AT":{"body":"a"},"de_at":{"body":"b"}}}}"#;
        assert!(check(twins).unwrap_err().contains("are the same"));
    }
}
