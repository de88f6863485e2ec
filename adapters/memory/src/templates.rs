use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};

use async_trait::async_trait;
use claimstream_domain::{
    Invalid,
    notification::{Channel, Template},
};
use claimstream_ports::{StoreError, notification::TemplateSource};
use serde::Deserialize;

/// Templates that are known by heart, each for one channel and language.
///
/// Reads JSON such as `{"default_language": "en", "templates": [{"id": "order-paid", "channel": "email", "language":
/// "de", "title": "Bezahlt", "body": "Danke, {{name}}!"}]}`.
#[derive(Clone, Debug)]
pub struct MemoryTemplates {
    default_language: String,
    templates: BTreeMap<(String, Channel, String), Template>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    default_language: String,
    templates: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    channel: Channel,
    language: String,
    #[serde(default)]
    title: Option<String>,
    body: String,
}

impl MemoryTemplates {
    /// No template yet; `default_language` is what a recipient reads whose own language has none.
    pub fn new(default_language: &str) -> Self {
        Self { default_language: default_language.into(), templates: BTreeMap::new() }
    }

    /// With one more template, which must be new for its channel and language.
    pub fn with(
        mut self,
        id: &str,
        channel: Channel,
        language: &str,
        template: Template,
    ) -> Result<Self, Invalid> {
        match self.templates.insert((id.into(), channel, language.into()), template) {
            None => Ok(self),
            Some(_) => Err(malformed(format!("{id:?} is there twice for {channel} in {language:?}"))),
        }
    }

    fn find(&self, id: &str, channel: Channel, language: &str) -> Option<&Template> {
        self.templates.get(&(id.into(), channel, language.into()))
    }
}

impl FromStr for MemoryTemplates {
    type Err = Invalid;

    fn from_str(json: &str) -> Result<Self, Invalid> {
        let file: File = serde_json::from_str(json).map_err(|e| malformed(e.to_string()))?;
        file.templates.into_iter().try_fold(Self::new(&file.default_language), |templates, entry| {
            let Entry { id, channel, language, title, body } = entry;
            templates.with(&id, channel, &language, Template { title, body })
        })
    }
}

#[async_trait]
impl TemplateSource for MemoryTemplates {
    async fn template(
        &self,
        id: &str,
        channel: Channel,
        language: Option<String>,
    ) -> Result<Option<Template>, StoreError> {
        let own = language.and_then(|language| self.find(id, channel, &language));
        Ok(own.or_else(|| self.find(id, channel, &self.default_language)).cloned())
    }

    async fn variables(&self, id: &str) -> Result<Option<BTreeSet<String>>, StoreError> {
        let mut of_template = self.templates.iter().filter(|((known, ..), _)| known == id).peekable();
        if of_template.peek().is_none() {
            return Ok(None);
        }
        // A malformed one says so when it is filled in.
        let variables = of_template.filter_map(|(_, template)| template.variables().ok());
        Ok(Some(variables.flatten().collect()))
    }
}

fn malformed(why: String) -> Invalid {
    Invalid::Malformed { what: "templates", why }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    const FILE: &str = r#"{"default_language":"en","templates":[
        {"id":"paid","channel":"email","language":"de","title":"Bezahlt","body":"Danke"},
        {"id":"paid","channel":"email","language":"en","body":"Thanks"}]}"#;

    fn body(id: &str, channel: Channel, language: Option<&str>) -> Option<String> {
        let templates: MemoryTemplates = FILE.parse().unwrap();
        let found = block_on(templates.template(id, channel, language.map(str::to_owned))).unwrap();
        found.map(|template| template.body)
    }

    #[test]
    fn finds_the_language_or_else_the_default_one() {
        assert_eq!(body("paid", Channel::Email, Some("de")).as_deref(), Some("Danke"));
        assert_eq!(body("paid", Channel::Email, Some("ko")).as_deref(), Some("Thanks"));
        assert_eq!(body("paid", Channel::Email, None).as_deref(), Some("Thanks"));
        assert_eq!(body("paid", Channel::Sms, Some("de")), None);
        assert_eq!(body("unpaid", Channel::Email, None), None);
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        let refused = |json: &str| json.parse::<MemoryTemplates>().unwrap_err().to_string();
        assert!(refused(&FILE.replace("\"en\",\"body\"", "\"de\",\"body\"")).contains("there twice"));
        assert!(refused(&FILE.replace("title", "subject")).contains("unknown field `subject`"));
        assert!(refused(&FILE.replace("\"email\"", "\"pigeon\"")).contains("pigeon"));
        assert!(refused(r#"{"templates":[]}"#).contains("default_language"));
    }
}
