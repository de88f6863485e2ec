use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use claimstream_domain::{
    Invalid, Reason,
    notification::{
        Channel, Content, NotificationRequest, Recipient, TemplateCall, TemplateFault, TemplateVersion,
        digest::DigestItem,
    },
};
use minijinja::{Value, value::Serde};

use super::engine::CompiledText;

/// The variable that stands for the link to unsubscribe.
const UNSUBSCRIBE_URL: &str = "unsubscribe_url";
/// The variable that stands for the recipient.
const RECIPIENT: &str = "recipient";
/// The variables that stand for the items of a digest, and for how many they are.
const DIGEST: [&str; 2] = ["items", "count"];

/// A version of a template, ready to be filled in.
///
/// Its language is that of minijinja, without what could let a value into a page as it is. Each value is filled in once: it is data to the
/// engine, so nothing in it is ever carried out. Texts and titles take values as they are, pages take them escaped, and titles
/// have no line breaks.
#[derive(Debug)]
pub struct CompiledTemplate {
    version: Arc<TemplateVersion>,
    texts: BTreeMap<Channel, BTreeMap<String, CompiledText>>,
    /// The parameters that a caller may give.
    known: BTreeSet<String>,
    /// The parameters that a caller must give; `None` if the template declares none, and each text says for itself.
    required: Option<BTreeSet<String>>,
    defaults: BTreeMap<String, String>,
}

impl CompiledTemplate {
    /// Compiles all texts; refuses a template with a fault, with its place and line, and one that uses a variable which it does not
    /// declare.
    pub fn of(version: Arc<TemplateVersion>) -> Result<Self, Invalid> {
        version.template.check()?;
        version.partials.values().try_for_each(|partial| partial.check())?;
        if let Some(missing) = version.missing_partials()?.first() {
            return Err(malformed(format!("it includes {missing:?}, and no such template is published")));
        }
        let mut texts = BTreeMap::<Channel, BTreeMap<String, CompiledText>>::new();
        for (channel, languages) in &version.template.texts {
            for (language, text) in languages {
                let compiled = CompiledText::of(&version, *channel, language, text)?;
                refuse_undeclared(&version, *channel, language, &compiled)?;
                texts.entry(*channel).or_default().insert(language.clone(), compiled);
            }
        }
        let declared = version.variables();
        let used = || texts.values().flat_map(BTreeMap::values).flat_map(|text| &text.uses);
        let known = match &declared {
            Some(declared) => declared.keys().map(|name| (*name).to_owned()).collect(),
            None => used().filter(|name| *name != RECIPIENT).cloned().collect(),
        };
        let required = declared.as_ref().map(|declared| {
            let required = declared.iter().filter(|(_, variable)| variable.default.is_none());
            required.map(|(name, _)| (*name).to_owned()).filter(|name| name != UNSUBSCRIBE_URL).collect()
        });
        let defaults = declared.into_iter().flatten().filter_map(|(name, variable)| {
            variable.default.clone().map(|default| (name.to_owned(), default))
        });
        let defaults = defaults.collect();
        Ok(Self { texts, known, required, defaults, version })
    }

    /// The version that it was made of.
    pub fn version(&self) -> &Arc<TemplateVersion> {
        &self.version
    }

    /// Says why a request can never be carried out with this template, if so: before its readers are known.
    pub fn fault(&self, request: &NotificationRequest, call: &TemplateCall) -> Option<TemplateFault> {
        let texts = || request.channels.iter().filter_map(|channel| self.texts.get(channel));
        if texts().next().is_none() {
            let channels = request.channels.clone();
            return Some(TemplateFault::NoText { id: call.id.clone(), channels });
        }
        let missing = match &self.required {
            Some(required) => call.refuse_missing(required),
            None => texts().try_for_each(|languages| call.refuse_missing(&needed_by_all(languages))),
        };
        self.refuse_surplus(call).and(missing).err()
    }

    /// Refuses parameters that the template does not have.
    pub fn refuse_surplus(&self, call: &TemplateCall) -> Result<(), TemplateFault> {
        call.refuse_surplus(&self.known)
    }

    /// What a recipient reads on a channel, in the language that comes nearest to its own; or why there is nothing to read.
    ///
    /// The template reads `link` as `unsubscribe_url`, which is empty where there is none, and what is known of the recipient as
    /// `recipient`.
    pub fn write(
        &self,
        call: &TemplateCall,
        recipient: &Recipient,
        channel: Channel,
        link: Option<&str>,
    ) -> Result<Content, Reason> {
        let nearest = self.version.template.text(channel, recipient.language.as_deref());
        let text = nearest.and_then(|(language, _)| self.texts.get(&channel)?.get(language));
        let text = text.ok_or_else(|| no_template(&call.id, channel))?;
        match &self.required {
            Some(required) => call.refuse_missing(required),
            None => call.refuse_missing(&needed(text)),
        }
        .map_err(Reason::new)?;
        let written = text.render(&self.values(call, recipient, link, []));
        written.map_err(|why| Reason::new(format_args!("the template {:?} for {channel}: {why}", call.id)))
    }

    /// What a recipient reads of a digest; the template reads its items as `items`, and how many they are as `count`.
    pub(crate) fn write_digest(
        &self,
        items: &[DigestItem],
        recipient: &Recipient,
        channel: Channel,
        link: Option<&str>,
    ) -> Result<Content, Reason> {
        let call = TemplateCall { id: self.version.id.clone(), params: BTreeMap::new() };
        let nearest = self.version.template.text(channel, recipient.language.as_deref());
        let text = nearest.and_then(|(language, _)| self.texts.get(&channel)?.get(language));
        let text = text.ok_or_else(|| no_template(&call.id, channel))?;
        let required = self.required.iter().flatten().filter(|name| !DIGEST.contains(&name.as_str()));
        call.refuse_missing(required).map_err(Reason::new)?;
        let shown: Vec<_> = items.iter().map(shown).collect();
        let [all, count] = DIGEST;
        let digest = [(all, Value::from(Serde(&shown))), (count, Value::from(items.len()))];
        let written = text.render(&self.values(&call, recipient, link, digest));
        written.map_err(|why| Reason::new(format_args!("the template {:?} for {channel}: {why}", call.id)))
    }

    fn values(
        &self,
        call: &TemplateCall,
        recipient: &Recipient,
        link: Option<&str>,
        others: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Value {
        let given = self.defaults.iter().chain(&call.params);
        let given = given.map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        let link = [(UNSUBSCRIBE_URL, Value::from(link.unwrap_or_default()))];
        let others = [(RECIPIENT, seen(recipient))].into_iter().chain(others);
        let named = |(name, value): (&str, _)| (name.to_owned(), value);
        let values = link.into_iter().map(named).chain(given).chain(others.map(named));
        Value::from_object(values.collect::<BTreeMap<_, _>>())
    }
}

/// Why a template cannot be used on a channel that it has no text for.
pub(crate) fn no_template(id: &str, channel: Channel) -> Reason {
    Reason::new(format_args!("there is no template {id:?} for {channel}"))
}

/// What a template sees of an item of a digest; a part that it has not is empty.
fn shown(item: &DigestItem) -> serde_json::Value {
    let Content { title, body, html: _, redirect_url, image_url, attachments: _ } = &item.message.content;
    serde_json::json!({
        "title": title.as_deref().unwrap_or_default(),
        "body": body.as_deref().unwrap_or_default(),
        "redirect_url": redirect_url.as_deref().unwrap_or_default(),
        "image_url": image_url.as_deref().unwrap_or_default(),
        "params": item.params,
    })
}

/// What a template sees of a recipient; what is not known is not there.
fn seen(recipient: &Recipient) -> Value {
    let mut seen = serde_json::Map::from_iter([("key".to_owned(), recipient.key.clone().into())]);
    let known = [("user", &recipient.user), ("language", &recipient.language)];
    let known = known.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    seen.extend(known.map(|(name, value)| (name.to_owned(), value.into())));
    let attributes = recipient.attributes.iter().filter(|(_, value)| !value.is_null());
    let attributes = attributes.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    seen.insert("attributes".to_owned(), serde_json::Value::Object(attributes));
    Value::from(Serde(seen))
}

/// The parameters that a text of a template without declarations needs.
fn needed(text: &CompiledText) -> BTreeSet<String> {
    text.uses.iter().filter(|name| ![RECIPIENT, UNSUBSCRIBE_URL].contains(&name.as_str())).cloned().collect()
}

fn needed_by_all(languages: &BTreeMap<String, CompiledText>) -> BTreeSet<String> {
    let mut sets = languages.values().map(needed);
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |all, next| all.intersection(&next).cloned().collect())
}

fn refuse_undeclared(
    version: &TemplateVersion,
    channel: Channel,
    language: &str,
    text: &CompiledText,
) -> Result<(), Invalid> {
    let Some(declared) = version.variables() else { return Ok(()) };
    let is_known = |name: &str| declared.contains_key(name) || [RECIPIENT, UNSUBSCRIBE_URL].contains(&name);
    let undeclared: Vec<String> =
        text.uses.iter().filter(|name| !is_known(name)).map(|name| format!("{name:?}")).collect();
    match undeclared.is_empty() {
        true => Ok(()),
        false => Err(malformed(format!(
            "{channel}, {language}: it uses {}, which its variables do not declare",
            undeclared.join(", ")
        ))),
    }
}

fn malformed(why: String) -> Invalid {
    Invalid::Malformed { what: "template", why }
}
