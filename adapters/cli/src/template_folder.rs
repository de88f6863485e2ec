use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use claimstream_domain::notification::{Channel, Template, TemplateText, TemplateVariable};
use toml::de::{DeTable, DeValue};

use crate::config::quoted;

/// Templates as their authors have them: a folder for each, with a file for each text.
///
/// ```text
/// templates/order-paid/template.toml         default_language, and [variables.NAME] with default and description
/// templates/order-paid/email.de.title.txt    CHANNEL.LANGUAGE.title.txt
/// templates/order-paid/email.de.txt          CHANNEL.LANGUAGE.txt
/// templates/order-paid/email.de.html         CHANNEL.LANGUAGE.html
/// ```
///
/// The line end at the end of a file does not belong to the text.
pub(crate) struct TemplateFolder(PathBuf);

/// The files of a template, by name.
pub(crate) type TemplateFiles = BTreeMap<String, String>;

const SETTINGS: &str = "template.toml";

impl TemplateFolder {
    pub(crate) fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The ids of its templates.
    pub(crate) fn ids(&self) -> Result<Vec<String>, String> {
        let unreadable = |e| format!("the folder {} cannot be read: {e}", self.0.display());
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.0).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().join(SETTINGS).is_file() && !name.starts_with('.') {
                ids.push(name);
            }
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// The ids that are asked for, or all that it has.
    pub(crate) fn chosen(&self, ids: Vec<String>) -> Result<Vec<String>, String> {
        if ids.is_empty() { self.ids() } else { Ok(ids) }
    }

    /// Says that it has no template of this id.
    pub(crate) fn lacks(&self, id: &str) -> String {
        format!("there is no template {}/{id}/{SETTINGS}", self.0.display())
    }

    /// The files of a template; `None` if there is no such template.
    pub(crate) fn files(&self, id: &str) -> Result<Option<TemplateFiles>, String> {
        let folder = self.of(id)?;
        if !folder.join(SETTINGS).is_file() {
            return Ok(None);
        }
        let unreadable = |path: &Path, e| format!("{} cannot be read: {e}", path.display());
        let mut files = TemplateFiles::new();
        for entry in fs::read_dir(&folder).map_err(|e| unreadable(&folder, e))? {
            let path = entry.map_err(|e| unreadable(&folder, e))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // Editors leave such files behind.
            if name.starts_with('.') || name.ends_with('~') {
                continue;
            }
            let text = fs::read_to_string(&path).map_err(|e| unreadable(&path, e))?;
            files.insert(name, text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned());
        }
        Ok(Some(files))
    }

    /// A template; says which file is wrong.
    pub(crate) fn read(&self, id: &str) -> Result<Option<Template>, String> {
        let placed = |why| format!("{}/{id}/{why}", self.0.display());
        self.files(id)?.map(|files| template(&files).map_err(placed)).transpose()
    }

    /// Writes the files of a template, and removes those that it does not have.
    pub(crate) fn write(&self, id: &str, files: &TemplateFiles) -> Result<(), String> {
        let folder = self.of(id)?;
        let unwritten = |path: &Path, e| format!("{} cannot be written: {e}", path.display());
        fs::create_dir_all(&folder).map_err(|e| unwritten(&folder, e))?;
        for (name, text) in files {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|e| unwritten(&path, e))?;
        }
        for name in self.files(id)?.unwrap_or_default().into_keys().filter(|name| !files.contains_key(name)) {
            let path = folder.join(name);
            fs::remove_file(&path).map_err(|e| unwritten(&path, e))?;
        }
        Ok(())
    }

    fn of(&self, id: &str) -> Result<PathBuf, String> {
        Template::check_id(id).map_err(|e| e.to_string())?;
        Ok(self.0.join(id))
    }
}

/// The files that say what a template says.
pub(crate) fn files(template: &Template) -> TemplateFiles {
    let mut settings = format!("default_language = {}\n", quoted(&template.default_language));
    for (name, TemplateVariable { default, description }) in template.variables.iter().flatten() {
        settings += &format!("\n[variables.{name}]\n");
        for (key, value) in [("default", default), ("description", description)] {
            settings +=
                &value.as_ref().map(|value| format!("{key} = {}\n", quoted(value))).unwrap_or_default();
        }
    }
    let mut files = TemplateFiles::from([(SETTINGS.to_owned(), settings)]);
    for (channel, languages) in &template.texts {
        for (language, TemplateText { title, body, html }) in languages {
            let parts = [("title.txt", title.as_ref()), ("txt", Some(body)), ("html", html.as_ref())];
            for (end, text) in parts.into_iter().filter_map(|(end, text)| Some((end, text?))) {
                files.insert(format!("{channel}.{language}.{end}"), format!("{text}\n"));
            }
        }
    }
    files
}

/// The template that files make up, or the name of a file and what is wrong with it.
fn template(files: &TemplateFiles) -> Result<Template, String> {
    let mut template = settings(files.get(SETTINGS).map_or("", String::as_str))
        .map_err(|why| format!("{SETTINGS}: {why}"))?;
    let mut bodies = BTreeMap::new();
    for (name, text) in files.iter().filter(|(name, _)| *name != SETTINGS) {
        let (channel, language, part) = place(name).map_err(|why| format!("{name}: {why}"))?;
        let texts = template.texts.entry(channel).or_default();
        let entry = texts.entry(language.to_owned()).or_default();
        let text = text.strip_suffix('\n').unwrap_or(text).trim_end_matches('\r').to_owned();
        match part {
            TemplatePart::Title => entry.title = Some(text),
            TemplatePart::Html => entry.html = Some(text),
            TemplatePart::Body => {
                bodies.insert((channel, language.to_owned()), ());
                entry.body = text;
            }
        }
    }
    for (channel, languages) in &template.texts {
        for language in languages.keys() {
            if !bodies.contains_key(&(*channel, language.clone())) {
                return Err(format!(
                    "{channel}.{language}.txt: it is missing; each title and page needs a text"
                ));
            }
        }
    }
    Ok(template)
}

enum TemplatePart {
    Title,
    Body,
    Html,
}

fn place(name: &str) -> Result<(Channel, &str, TemplatePart), String> {
    let parts: Vec<&str> = name.split('.').collect();
    let (channel, language, part) = match parts.as_slice() {
        [channel, language, "title", "txt"] => (channel, language, TemplatePart::Title),
        [channel, language, "txt"] => (channel, language, TemplatePart::Body),
        [channel, language, "html"] => (channel, language, TemplatePart::Html),
        _ => {
            return Err(
                "name it CHANNEL.LANGUAGE.txt, CHANNEL.LANGUAGE.title.txt or CHANNEL.LANGUAGE.html".into()
            );
        }
    };
    let channel = channel.parse().map_err(|e: claimstream_domain::Invalid| e.to_string())?;
    Ok((channel, language, part))
}

fn settings(text: &str) -> Result<Template, String> {
    let table = DeTable::parse(text).map_err(|e| {
        let before = e.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        format!("line {}: {}", before.matches('\n').count() + 1, e.message())
    })?;
    let mut default_language = None;
    let mut variables = BTreeMap::new();
    for (key, value) in table.get_ref() {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("default_language", DeValue::String(language)) => default_language = Some(language.to_string()),
            ("variables", DeValue::Table(table)) => {
                for (name, value) in table {
                    let name = name.get_ref().to_string();
                    let variable =
                        variable(value.get_ref()).map_err(|why| format!("[variables.{name}]: {why}"))?;
                    variables.insert(name, variable);
                }
            }
            (other, _) => return Err(format!("{other:?} is not default_language or [variables.NAME]")),
        }
    }
    let default_language = default_language.ok_or("set default_language, such as \"en\"")?;
    Ok(Template { default_language, variables: Some(variables), texts: BTreeMap::new() })
}

fn variable(value: &DeValue<'_>) -> Result<TemplateVariable, String> {
    let DeValue::Table(table) = value else { return Err("it is no section".into()) };
    let mut variable = TemplateVariable::default();
    for (key, value) in table {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("default", DeValue::String(text)) => variable.default = Some(text.to_string()),
            ("description", DeValue::String(text)) => variable.description = Some(text.to_string()),
            (key @ ("default" | "description"), _) => return Err(format!("{key} is text in quotes")),
            (other, _) => return Err(format!("{other:?} is not default or description")),
        }
    }
    Ok(variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS_TEXT: &str = "default_language = \"en\"\n\n[variables.name]\n\n[variables.sum]\ndefault = \"0\"\ndescription = \"in \\\"EUR\\\"\"\n";

    fn good() -> TemplateFiles {
        let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        TemplateFiles::from([
            file(SETTINGS, SETTINGS_TEXT),
            file("email.de-AT.title.txt", "Hallo\n"),
            file("email.de-AT.txt", "Hallo {{ name }}\n\n"),
            file("email.de-AT.html", "<p>Hallo\n"),
            file("sms.en.txt", "Hi\n"),
        ])
    }

    #[test]
    fn a_template_comes_back_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let folder = TemplateFolder::new(directory.path());
        folder.write("paid", &good()).unwrap();
        fs::write(directory.path().join("paid/.swp"), "x").unwrap();
        fs::write(directory.path().join("README.md"), "x").unwrap();
        assert_eq!(folder.ids().unwrap(), ["paid"]);
        let template = folder.read("paid").unwrap().unwrap();
        assert_eq!(template.check(), Ok(()));
        let text = &template.texts[&Channel::Email]["de-AT"];
        assert_eq!((text.title.as_deref(), text.body.as_str()), (Some("Hallo"), "Hallo {{ name }}\n"));
        assert_eq!(files(&template), good());
        let mut less = good();
        less.remove("sms.en.txt");
        folder.write("paid", &less).unwrap();
        assert_eq!(folder.files("paid").unwrap().unwrap(), less);
        assert!(folder.read("unpaid").unwrap().is_none());
        assert!(folder.read("../paid").is_err());
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named() {
        let why = |edit: fn(&mut TemplateFiles)| {
            let mut files = good();
            edit(&mut files);
            template(&files).unwrap_err()
        };
        assert!(why(|f| drop(f.insert("mail.en.txt".into(), String::new()))).starts_with("mail.en.txt: "));
        assert!(why(|f| drop(f.insert("notes.md".into(), String::new()))).contains("name it CHANNEL"));
        assert!(why(|f| drop(f.remove("email.de-AT.txt"))).starts_with("email.de-AT.txt: it is missing"));
        assert!(
            why(|f| drop(f.insert(SETTINGS.into(), "x = 1".into())))
                .contains("\"x\" is not default_language")
        );
        assert!(why(|f| drop(f.insert(SETTINGS.into(), String::new()))).contains("set default_language"));
        let wrong = |f: &mut TemplateFiles| {
            drop(f.insert(SETTINGS.into(), "default_language = \"en\"\nvariables.a.required = true".into()))
        };
        assert!(why(wrong).contains("[variables.a]: \"required\" is not default or description"));
    }
}
