use std::{
    collections::BTreeMap,
    str::FromStr,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use claimstream_domain::{
    Invalid,
    notification::{Channel, Template, TemplateText, TemplateVariable, TemplateVersion},
};
use claimstream_ports::{StoreError, notification::TemplateSource};
use serde::Deserialize;

/// Templates that are known by heart. They have no versions.
///
/// Reads JSON such as `{"default_language": "en", "templates": [{"id": "order-paid", "channel": "email", "language":
/// "de", "title": "Bezahlt", "body": "Danke, {{name}}!"}], "variables": {"order-paid": {"name": {"description": "the first
/// name"}}}}`. A template without `variables` has nothing but plain names, and each name is a variable. A text may include another
/// template of the file. Text that would be left out as a comment though it is none, such as minified CSS behind `{#`, is refused.
#[derive(Clone, Debug)]
pub struct MemoryTemplates {
    default_language: String,
    templates: BTreeMap<String, Template>,
    /// Made of the templates when one is asked for.
    versions: OnceLock<BTreeMap<String, Arc<TemplateVersion>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    default_language: String,
    templates: Vec<Entry>,
    #[serde(default)]
    variables: BTreeMap<String, BTreeMap<String, TemplateVariable>>,
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
    #[serde(default)]
    html: Option<String>,
}

impl MemoryTemplates {
    /// No template yet; `default_language` is what a recipient reads whose own language has none.
    pub fn new(default_language: &str) -> Self {
        let (templates, versions) = (BTreeMap::new(), OnceLock::new());
        Self { default_language: default_language.into(), templates, versions }
    }

    /// With one more text, which must be new for its template, channel and language.
    pub fn with(
        mut self,
        id: &str,
        channel: Channel,
        language: &str,
        text: TemplateText,
    ) -> Result<Self, Invalid> {
        let new = || Template {
            default_language: self.default_language.clone(),
            variables: None,
            texts: BTreeMap::new(),
        };
        let template = self.templates.entry(id.into()).or_insert_with(new);
        self.versions = OnceLock::new();
        match template.texts.entry(channel).or_default().insert(language.into(), text) {
            None => Ok(self),
            Some(_) => Err(malformed(format!("{id:?} is there twice for {channel} in {language:?}"))),
        }
    }

    /// With the variables of a template that has texts already.
    pub fn with_variables(
        mut self,
        id: &str,
        variables: BTreeMap<String, TemplateVariable>,
    ) -> Result<Self, Invalid> {
        self.versions = OnceLock::new();
        match self.templates.get_mut(id) {
            Some(template) => template.variables = Some(variables),
            None => return Err(malformed(format!("there are variables of {id:?}, which has no text"))),
        }
        Ok(self)
    }

    /// All templates, each with those that it includes.
    pub fn all(&self) -> impl Iterator<Item = &Arc<TemplateVersion>> {
        self.versions().values()
    }

    fn versions(&self) -> &BTreeMap<String, Arc<TemplateVersion>> {
        let version = |(id, template): (&String, &Template)| {
            let closed = TemplateVersion::closed(id, 0, template.clone(), |id| self.templates.get(id));
            // One that cannot be closed says so when it is used.
            let as_it_is = |_| {
                let (id, template) = (id.clone(), template.clone());
                TemplateVersion { id, number: 0, template, partials: BTreeMap::new() }
            };
            (id.clone(), Arc::new(closed.unwrap_or_else(as_it_is)))
        };
        self.versions.get_or_init(|| self.templates.iter().map(version).collect())
    }
}

impl FromStr for MemoryTemplates {
    type Err = Invalid;

    fn from_str(json: &str) -> Result<Self, Invalid> {
        let file: File = serde_json::from_str(json).map_err(|e| malformed(e.to_string()))?;
        let mut entries = file.templates.into_iter();
        let templates = entries.try_fold(Self::new(&file.default_language), |templates, entry| {
            let Entry { id, channel, language, title, body, html } = entry;
            templates.with(&id, channel, &language, TemplateText { title, body, html })
        })?;
        let templates = file
            .variables
            .into_iter()
            .try_fold(templates, |templates, (id, variables)| templates.with_variables(&id, variables))?;
        for (id, template) in &templates.templates {
            template.refuse_hidden().map_err(|why| malformed(format!("{id:?}: {why}")))?;
        }
        Ok(templates)
    }
}

#[async_trait]
impl TemplateSource for MemoryTemplates {
    async fn published(&self, id: &str) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        Ok(self.versions().get(id).cloned())
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
        {"id":"paid","channel":"email","language":"de","title":"Bezahlt","body":"Danke {% include \"bye\" %}"},
        {"id":"paid","channel":"email","language":"en","body":"Thanks","html":"<p>Thanks"},
        {"id":"bye","channel":"email","language":"en","body":"Bye"}],"variables":{"paid":{"name":{"default":"you"}}}}"#;

    fn read(id: &str) -> Option<Arc<TemplateVersion>> {
        let templates: MemoryTemplates = FILE.parse().unwrap();
        let found = block_on(templates.published(id)).unwrap();
        assert_eq!(block_on(templates.version(id, 7)).unwrap(), found);
        found
    }

    #[test]
    fn a_template_has_all_its_texts_variables_and_partials() {
        let paid = read("paid").unwrap();
        let body =
            |channel, language| paid.template.text(channel, language).map(|(_, text)| text.body.as_str());
        assert_eq!(body(Channel::Email, Some("de")), Some("Danke {% include \"bye\" %}"));
        assert_eq!(body(Channel::Email, Some("ko")), Some("Thanks"));
        assert_eq!(body(Channel::Sms, Some("de")), None);
        assert_eq!(paid.template.variables.as_ref().unwrap()["name"].default.as_deref(), Some("you"));
        assert_eq!((paid.number, paid.partials.keys().next().unwrap().as_str()), (0, "bye"));
        assert_eq!((read("bye").unwrap().template.variables.as_ref(), read("unpaid")), (None, None));
    }

    /// Guard: a file loses no text to an unintended comment | src/templates.rs `from_str`: no `refuse_hidden`
    #[test]
    fn a_file_with_an_unintended_comment_is_refused() {
        let with = |html: &str| FILE.replace("<p>Thanks", html).parse::<MemoryTemplates>().map(|_| ());
        let refused =
            with("<style>@media print{#menu{display:none}}</style><p>Thanks").unwrap_err().to_string();
        assert!(refused.contains("\"paid\"") && refused.contains("{# begins a comment"), "{refused}");
        assert_eq!(with("{# a note #}<p>Thanks"), Ok(()));
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        let refused = |json: &str| json.parse::<MemoryTemplates>().unwrap_err().to_string();
        assert!(
            refused(&FILE.replace("\"en\",\"body\":\"Thanks\"", "\"de\",\"body\":\"\""))
                .contains("there twice")
        );
        assert!(refused(&FILE.replace("title", "subject")).contains("unknown field `subject`"));
        assert!(refused(&FILE.replace("\"email\"", "\"pigeon\"")).contains("pigeon"));
        assert!(refused(&FILE.replace("{\"paid\"", "{\"paiid\"")).contains("\"paiid\", which has no text"));
        assert!(refused(r#"{"templates":[]}"#).contains("default_language"));
    }
}
