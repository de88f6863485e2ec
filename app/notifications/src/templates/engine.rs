use std::{borrow::Cow, collections::BTreeSet};

use claimstream_domain::{
    Invalid,
    notification::{Channel, Content, TemplatePart, TemplateText, TemplateVersion},
};
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, Value, syntax::SyntaxConfig};

/// A text of a template for one channel and language, ready to be filled in.
#[derive(Debug)]
pub(super) struct CompiledText {
    environment: Environment<'static>,
    /// The names of its parts in the environment.
    parts: Vec<(TemplatePart, String)>,
    /// The variables that it and its partials use.
    pub(super) uses: BTreeSet<String>,
}

/// What a template may spend on one part of one message: so many steps, or about 64 bytes of data for each of them.
const FUEL: u64 = 100_000;

impl CompiledText {
    /// Compiles a text with the partials of its version; refuses what does not compile, with its place.
    ///
    /// A partial speaks the language of the text that it stands in, and its own default language if it does not know that one.
    /// Nothing is read from a disk: there are the texts of the version and no others.
    pub(super) fn of(
        version: &TemplateVersion,
        channel: Channel,
        language: &str,
        text: &TemplateText,
    ) -> Result<Self, Invalid> {
        let mut environment = environment();
        let placed = |id: &str, part: TemplatePart, why: String| {
            let partial = if id == version.id { String::new() } else { format!("partial {id:?}, ") };
            let why = format!("{channel}, {language}, {partial}{}: {why}", part.name());
            Invalid::Malformed { what: "template", why }
        };
        let own = || (version.id.as_str(), text);
        let find = |id: &str| version.partials.get(id)?.text(channel, Some(language)).map(|(_, text)| text);
        let mut open: Vec<(&str, &TemplateText, TemplatePart)> =
            text.parts().map(|(part, _)| (own().0, own().1, part)).collect();
        let mut added = BTreeSet::new();
        while let Some((id, text, part)) = open.pop() {
            if !added.insert((id, part)) {
                continue;
            }
            let source = text.part(part).unwrap_or_default().to_owned();
            let compiled = environment.add_template_owned(name(id, part), source);
            compiled.map_err(|error| placed(id, part, said(&error)))?;
            for included in text.includes(part)? {
                let found = version.partials.get_key_value(&included).map(|(id, _)| id.as_str());
                let found =
                    found.and_then(|id| Some((id, find(id).filter(|text| text.part(part).is_some())?)));
                let (partial, text) = found.ok_or_else(|| {
                    placed(id, part, format!("the partial {included:?} has no {} for {channel}", part.name()))
                })?;
                open.push((partial, text, part));
            }
        }
        let uses = variables(&environment);
        let parts = text.parts().map(|(part, _)| (part, name(&version.id, part))).collect();
        Ok(Self { environment, parts, uses })
    }

    /// Fills all parts in; says which part failed, where and why.
    pub(super) fn render(&self, values: &Value) -> Result<Content, String> {
        let mut content = Content::default();
        for (part, name) in &self.parts {
            let template = self.environment.get_template(name).map_err(|e| said(&e))?;
            let text = template.render(values.clone());
            let text = text.map_err(|error| format!("{}: {}", part.name(), said(&error)))?;
            match part {
                TemplatePart::Title => content.title = Some(one_line(&text)),
                TemplatePart::Body => content.body = Some(text),
                TemplatePart::Html => content.html = Some(text),
            }
        }
        content.check().map_err(|e| e.to_string())?;
        Ok(content)
    }
}

/// An engine that knows no template yet: an undefined name is an error, pages are escaped, and what a template may spend is bounded.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_syntax(whitespace());
    environment.set_debug(false);
    let html = format!("@{}", TemplatePart::Html.name());
    environment.set_auto_escape_callback(move |name| match name.ends_with(&html) {
        true => AutoEscape::Html,
        false => AutoEscape::None,
    });
    // A part includes the same part of a partial.
    environment.set_path_join_callback(|included, parent| match parent.rsplit_once('@') {
        Some((_, part)) => Cow::Owned(format!("{included}@{part}")),
        None => Cow::Borrowed(included),
    });
    // It would let a value into a page as it is.
    environment.remove_filter("safe");
    // It would show all that the engine has.
    environment.remove_global("debug");
    environment
}

/// A line that has nothing but a statement leaves no line behind, and everything else stays as it was written.
fn whitespace() -> SyntaxConfig {
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    syntax.build().unwrap_or_default()
}

/// The variables that the templates of an environment use.
fn variables(environment: &Environment<'_>) -> BTreeSet<String> {
    let globals: BTreeSet<String> = environment.globals().map(|(name, _)| name.to_owned()).collect();
    let templates = environment.templates();
    let used = templates.flat_map(|(_, template)| template.undeclared_variables(false));
    used.filter(|name| !globals.contains(name)).collect()
}

/// The name of a part of a template in an environment.
fn name(id: &str, part: TemplatePart) -> String {
    format!("{id}@{}", part.name())
}

/// What is wrong with a template, and the line of it.
fn said(error: &Error) -> String {
    let line = error.line().map(|line| format!("line {line}: ")).unwrap_or_default();
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    format!("{line}{}{detail}", error.kind())
}

/// A title has no line breaks, whatever was filled in: they would end the header of a mail.
fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_control() || c == '\u{2028}' || c == '\u{2029}')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
