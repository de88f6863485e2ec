use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use claimstream_domain::notification::{Content, Recipient, Template, TemplateCall, TemplateVersion};
use claimstream_notifications::{CompiledTemplate, Edition, TemplateEditor, TemplateListed};
use serde_json::json;

use crate::{
    Exit,
    age::Age,
    config::Config,
    failure::Failure,
    table::{Column, Table},
    template_arguments::{PreviewArguments, TemplateCommand},
    template_folder::{Files, TemplateFolder, files},
};

/// Edits templates in the database, and shows them.
pub(super) async fn run(
    command: TemplateCommand,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    if let TemplateCommand::Preview(preview) = &command
        && let Some(folder) = &preview.folder
    {
        return show(&from_folder(folder, preview)?, out);
    }
    let editor = TemplateEditor::new(Arc::new(config.database.open_existing().await?));
    match command {
        TemplateCommand::List { json } => list(&editor, json, out).await,
        TemplateCommand::Push { folder, ids } => push(&editor, &folder, ids, out).await,
        TemplateCommand::Pull { folder, ids, force } => pull(&editor, &folder, ids, force, out).await,
        TemplateCommand::Diff { folder, ids } => diff(&editor, &folder, ids, out).await,
        TemplateCommand::Publish { ids, all, number } => publish(&editor, ids, all, number, out).await,
        TemplateCommand::Preview(preview) => {
            let edition = preview.number.map_or(Edition::Draft, Edition::Version);
            let shown =
                editor.preview(&call(&preview), edition, &recipient(&preview)?, preview.channel).await;
            show(&shown.map_err(refused)?, out)
        }
    }
}

async fn list(editor: &TemplateEditor, as_json: bool, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let found = all(editor).await?;
    if as_json {
        for TemplateListed { id, revision, age, published } in found {
            let line =
                json!({"id": id, "revision": revision, "age_seconds": age.as_secs(), "published": published});
            writeln!(out, "{line}")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(["ID", "DRAFT", "CHANGED", "PUBLISHED"].map(Column::Text));
    for one in found {
        let published =
            one.published.map_or_else(|| "never".to_owned(), |number| format!("version {number}"));
        table.row([one.id, format!("revision {}", one.revision), Age(one.age).to_string(), published]);
    }
    write!(out, "{table}")?;
    Ok(ExitCode::SUCCESS)
}

async fn push(
    editor: &TemplateEditor,
    folder: &Path,
    ids: Vec<String>,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let source = TemplateFolder::new(folder);
    let mut read = Vec::new();
    // All are read before one is pushed, so that a mistake in one pushes nothing.
    for id in of_folder(&source, ids)? {
        let template = source.read(&id).map_err(Failure::Refused)?.ok_or_else(|| not_there(folder, &id))?;
        template.check().map_err(|e| Failure::Refused(format!("{id}: {e}")))?;
        read.push((id, template));
    }
    for (id, template) in &read {
        let before = editor.store().draft(id).await?;
        let revision = editor.save(id, template).await.map_err(refused)?;
        match before.is_some_and(|before| before.revision == revision) {
            true => writeln!(out, "{id}: unchanged, revision {revision}")?,
            false => writeln!(out, "{id}: draft kept, revision {revision}")?,
        }
    }
    for (id, _) in &read {
        if let Err(why) = editor.check(id).await {
            writeln!(out, "{id}: cannot be published yet: {why}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn pull(
    editor: &TemplateEditor,
    folder: &Path,
    ids: Vec<String>,
    force: bool,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let target = TemplateFolder::new(folder);
    let mut changed = Vec::new();
    for id in of_database(editor, ids).await? {
        let draft = editor.store().draft(&id).await?.ok_or_else(|| unknown(&id))?;
        let (theirs, ours) = (files(&draft.template), target.files(&id).map_err(Failure::Refused)?);
        match ours {
            Some(ours) if ours == theirs => writeln!(out, "{id}: unchanged")?,
            Some(_) if !force => {
                return Err(Failure::Refused(format!(
                    "{}/{id} differs from the draft; `templates diff` shows how, and --force overwrites the files",
                    folder.display()
                )));
            }
            _ => changed.push((id, theirs)),
        }
    }
    for (id, theirs) in changed {
        target.write(&id, &theirs).map_err(Failure::Refused)?;
        writeln!(out, "{id}: {} files", theirs.len())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows what a push would change; the exit code is 1 if that is anything.
async fn diff(
    editor: &TemplateEditor,
    folder: &Path,
    ids: Vec<String>,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let source = TemplateFolder::new(folder);
    let mut differs = false;
    for id in of_folder(&source, ids)? {
        let ours = source.files(&id).map_err(Failure::Refused)?.ok_or_else(|| not_there(folder, &id))?;
        let theirs = editor.store().draft(&id).await?.map(|draft| files(&draft.template)).unwrap_or_default();
        // The files of the folder may say the same in other words, such as with a comment.
        let said = source.read(&id).map_err(Failure::Refused)?.map(|template| files(&template));
        if said.as_ref() == Some(&theirs) {
            continue;
        }
        differs = true;
        write_difference(&id, &theirs, said.as_ref().unwrap_or(&ours), out)?;
    }
    Ok(Exit::done_if(!differs).into())
}

fn write_difference(id: &str, theirs: &Files, ours: &Files, out: &mut impl Write) -> Result<(), Failure> {
    let names: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for name in names {
        let (before, after) = (theirs.get(name).map_or("", |t| t), ours.get(name).map_or("", |t| t));
        if before == after {
            continue;
        }
        writeln!(out, "{id}/{name}")?;
        let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
        let (before, after) = (&before[same..], &after[same..]);
        let end = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
        before[..before.len() - end].iter().try_for_each(|line| writeln!(out, "- {line}"))?;
        after[..after.len() - end].iter().try_for_each(|line| writeln!(out, "+ {line}"))?;
    }
    Ok(())
}

async fn publish(
    editor: &TemplateEditor,
    ids: Vec<String>,
    all_of_them: bool,
    number: Option<u32>,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let ids = match (all_of_them, ids.is_empty()) {
        (true, true) => all(editor).await?.into_iter().map(|one| one.id).collect(),
        (false, false) => ids,
        _ => return Err(Failure::Usage("name the templates to publish, or give --all".into())),
    };
    if let Some(number) = number {
        let [id] = ids.as_slice() else {
            return Err(Failure::Usage("--number takes back one template; name that one".into()));
        };
        let published = editor.restore(id, number).await.map_err(refused)?;
        writeln!(out, "{id}: version {} says what version {number} said", published.number)?;
        return Ok(ExitCode::SUCCESS);
    }
    for id in partials_first(editor, &ids).await? {
        let published = editor.publish(&id).await.map_err(|e| Failure::Refused(format!("{id}: {e}")))?;
        match published.is_new {
            true => writeln!(out, "{id}: version {} published", published.number)?,
            false => writeln!(out, "{id}: unchanged, version {}", published.number)?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The ids in an order in which each follows what its draft includes.
async fn partials_first(editor: &TemplateEditor, ids: &[String]) -> Result<Vec<String>, Failure> {
    let mut includes = BTreeMap::new();
    for id in ids {
        let draft = editor.store().draft(id).await?.ok_or_else(|| unknown(id))?;
        let included = draft.template.includes().map_err(|e| Failure::Refused(format!("{id}: {e}")))?;
        includes.insert(id.clone(), included);
    }
    let mut ordered = Vec::new();
    while !includes.is_empty() {
        let free = includes.iter().find(|(_, of)| !of.iter().any(|id| includes.contains_key(id)));
        // In a circle the first one is as good as any; it is refused when it is published.
        let next = free.or_else(|| includes.iter().next()).map(|(id, _)| id.clone()).unwrap_or_default();
        includes.remove(&next);
        ordered.push(next);
    }
    Ok(ordered)
}

/// What a recipient would read of a template in a folder, with the partials that are there.
fn from_folder(folder: &Path, preview: &PreviewArguments) -> Result<Content, Failure> {
    let source = TemplateFolder::new(folder);
    let read = |id: &str| source.read(id).map_err(Failure::Refused);
    let template = read(&preview.id)?.ok_or_else(|| not_there(folder, &preview.id))?;
    let mut partials = BTreeMap::<String, Template>::new();
    for id in source.ids().map_err(Failure::Refused)? {
        if let Some(partial) = read(&id)? {
            partials.insert(id, partial);
        }
    }
    let invalid = |e: claimstream_domain::Invalid| Failure::Refused(e.to_string());
    let version =
        TemplateVersion::closed(&preview.id, 0, template, |id| partials.get(id)).map_err(invalid)?;
    let compiled = CompiledTemplate::of(Arc::new(version)).map_err(invalid)?;
    let call = call(preview);
    compiled.refuse_surplus(&call).map_err(|e| Failure::Refused(e.to_string()))?;
    let written = compiled.write(&call, &recipient(preview)?, preview.channel, None);
    written.map_err(|why| Failure::Refused(why.to_string()))
}

fn call(preview: &PreviewArguments) -> TemplateCall {
    TemplateCall { id: preview.id.clone(), params: preview.params.iter().cloned().collect() }
}

fn recipient(preview: &PreviewArguments) -> Result<Recipient, Failure> {
    // A value that is no JSON is text.
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    let attributes: BTreeMap<String, serde_json::Value> =
        preview.attributes.iter().map(|(name, text)| (name.clone(), value(text))).collect();
    let attributes = attributes.try_into();
    let attributes = attributes.map_err(|e: claimstream_domain::Invalid| Failure::Usage(e.to_string()))?;
    Ok(Recipient { language: preview.language.clone(), attributes, ..Recipient::user("preview") })
}

fn show(content: &Content, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let parts = [("title", &content.title), ("body", &content.body), ("html", &content.html)];
    for (name, text) in parts.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?))) {
        writeln!(out, "--- {name}\n{text}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn of_folder(folder: &TemplateFolder, ids: Vec<String>) -> Result<Vec<String>, Failure> {
    match ids.is_empty() {
        true => folder.ids().map_err(Failure::Refused),
        false => Ok(ids),
    }
}

async fn of_database(editor: &TemplateEditor, ids: Vec<String>) -> Result<Vec<String>, Failure> {
    match ids.is_empty() {
        true => Ok(all(editor).await?.into_iter().map(|one| one.id).collect()),
        false => Ok(ids),
    }
}

async fn all(editor: &TemplateEditor) -> Result<Vec<TemplateListed>, Failure> {
    const PAGE: u32 = 500;
    let mut found: Vec<TemplateListed> = Vec::new();
    loop {
        let after = found.last().map(|last| last.id.clone());
        let page = editor.store().templates(after, PAGE).await?;
        if page.is_empty() {
            return Ok(found);
        }
        found.extend(page);
    }
}

fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::Refused(error.to_string())
}

fn unknown(id: &str) -> Failure {
    Failure::Refused(format!("there is no template {id:?} in the database"))
}

fn not_there(folder: &Path, id: &str) -> Failure {
    Failure::Refused(format!("there is no template {}/{id}/template.toml", folder.display()))
}
