use std::{collections::BTreeMap, io::Write, path::Path, process::ExitCode, sync::Arc};

use claimstream_domain::notification::{Content, Recipient, Template, TemplateCall, TemplateVersion};
use claimstream_notifications::{CompiledTemplate, Edition, TemplateEditor, TemplateListed};
use claimstream_sea_orm::{Capability, SeaOrmOutbox};
use serde_json::json;

use super::{
    answers::ItemAnswers,
    listing::{as_list, as_table},
    template_diff,
};
use crate::{
    age::Age,
    config::Config,
    failure::Failure,
    moments::Moments,
    paging::Paging,
    table::{Column, Table},
    template_arguments::{PreviewArguments, TemplateCommand},
    template_folder::{TemplateFolder, files},
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
        return show(&from_folder(folder, preview)?, preview.json, out);
    }
    let store = config.database.open_existing_for(&[Capability::Notifications]).await?;
    let editor = TemplateEditor::new(Arc::new(store.clone()));
    match command {
        TemplateCommand::List(paging) => list(&editor, &store, paging, out).await,
        TemplateCommand::Push { folder, ids, json } => {
            push(&editor, &folder, ids, ItemAnswers::new(json), out).await
        }
        TemplateCommand::Pull { folder, ids, force, json } => {
            pull(&editor, &folder, ids, force, ItemAnswers::new(json), out).await
        }
        TemplateCommand::Diff { folder, ids, json } => {
            template_diff::run(&editor, &folder, ids, ItemAnswers::new(json), out).await
        }
        TemplateCommand::Publish { ids, all, number, json } => {
            let mut answers = ItemAnswers::new(json);
            let published = publish(&editor, ids, all, number, &mut answers, out).await;
            // What was published before one was refused is said all the same.
            answers.finish(out)?;
            published
        }
        TemplateCommand::Preview(preview) => {
            let edition = preview.number.map_or(Edition::Draft, Edition::Version);
            let shown =
                editor.preview(&call(&preview), edition, &recipient(&preview)?, preview.channel).await;
            show(&shown.map_err(refused)?, preview.json, out)
        }
    }
}

async fn list(
    editor: &TemplateEditor,
    store: &SeaOrmOutbox,
    paging: Paging,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let Paging { after, limit, json: as_json } = paging;
    let found = editor.store().templates(after, limit).await?;
    let next = found.last().filter(|_| found.len() as u64 >= u64::from(limit)).map(|last| last.id.clone());
    if as_json {
        let moments = Moments::of(store).await?;
        let item = |one: &TemplateListed| {
            json!({
                "id": one.id,
                "revision": one.revision,
                "changed_at": moments.ago(one.age),
                "published": one.published,
            })
        };
        return as_list(found.iter().map(item), next, out);
    }
    let mut table = Table::new(["ID", "DRAFT", "CHANGED", "PUBLISHED"].map(Column::Text));
    for one in &found {
        let published =
            one.published.map_or_else(|| "never".to_owned(), |number| format!("version {number}"));
        let revision = format!("revision {}", one.revision);
        table.row([one.id.clone(), revision, Age(one.age).to_string(), published]);
    }
    as_table(&table, found.is_empty(), "there are no templates in the database", next, out)
}

async fn push(
    editor: &TemplateEditor,
    folder: &Path,
    ids: Vec<String>,
    mut answers: ItemAnswers,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let source = TemplateFolder::new(folder);
    let mut read = Vec::new();
    // All are read before one is pushed, so that a mistake in one pushes nothing.
    for id in source.chosen(ids).map_err(Failure::Refused)? {
        let template = source.read(&id).map_err(Failure::Refused)?;
        let template = template.ok_or_else(|| Failure::Refused(source.lacks(&id)))?;
        template.check().map_err(|e| Failure::Refused(format!("{id}: {e}")))?;
        read.push((id, template));
    }
    let mut kept = Vec::new();
    for (id, template) in &read {
        let before = editor.store().draft(id).await?;
        let revision = editor.save(id, template).await.map_err(refused)?;
        let changed = before.is_none_or(|before| before.revision != revision);
        kept.push((id, revision, changed));
        if !answers.is_json() {
            let said = if changed { "draft kept" } else { "unchanged" };
            writeln!(out, "{id}: {said}, revision {revision}")?;
        }
    }
    for (id, revision, changed) in kept {
        let lacks = editor.check(id).await.err().map(|why| why.to_string());
        if let Some(why) = lacks.as_ref().filter(|_| !answers.is_json()) {
            writeln!(out, "{id}: cannot be published yet: {why}")?;
        }
        answers.note(json!({"id": id, "revision": revision, "changed": changed, "lacks": lacks}));
    }
    answers.finish(out)?;
    Ok(ExitCode::SUCCESS)
}

async fn pull(
    editor: &TemplateEditor,
    folder: &Path,
    ids: Vec<String>,
    force: bool,
    mut answers: ItemAnswers,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let target = TemplateFolder::new(folder);
    let mut changed = Vec::new();
    for id in of_database(editor, ids).await? {
        let draft = editor.store().draft(&id).await?.ok_or_else(|| unknown(&id))?;
        let (theirs, ours) = (files(&draft.template), target.files(&id).map_err(Failure::Refused)?);
        match ours {
            Some(ours) if ours == theirs => {
                let item = json!({"id": id, "files": theirs.len(), "changed": false});
                answers.say(&format!("{id}: unchanged"), item, out)?;
            }
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
        let item = json!({"id": id, "files": theirs.len(), "changed": true});
        answers.say(&format!("{id}: {} files", theirs.len()), item, out)?;
    }
    answers.finish(out)?;
    Ok(ExitCode::SUCCESS)
}

async fn publish(
    editor: &TemplateEditor,
    ids: Vec<String>,
    all_of_them: bool,
    number: Option<u32>,
    answers: &mut ItemAnswers,
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
        let line = format!("{id}: version {} says what version {number} said", published.number);
        answers.say(&line, json!({"id": id, "version": published.number, "changed": true}), out)?;
        return Ok(ExitCode::SUCCESS);
    }
    for id in partials_first(editor, &ids).await? {
        let published = editor.publish(&id).await.map_err(|e| Failure::Refused(format!("{id}: {e}")))?;
        let line = match published.is_new {
            true => format!("{id}: version {} published", published.number),
            false => format!("{id}: unchanged, version {}", published.number),
        };
        let item = json!({"id": id, "version": published.number, "changed": published.is_new});
        answers.say(&line, item, out)?;
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
    let template = read(&preview.id)?.ok_or_else(|| Failure::Refused(source.lacks(&preview.id)))?;
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

fn show(content: &Content, as_json: bool, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let Content { title, body, html, .. } = content;
    if as_json {
        writeln!(out, "{}", json!({"title": title, "body": body, "html": html}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let parts = [("title", title), ("body", body), ("html", html)];
    for (name, text) in parts.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?))) {
        writeln!(out, "--- {name}\n{text}")?;
    }
    Ok(ExitCode::SUCCESS)
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
