use std::{collections::BTreeSet, io::Write, path::Path, process::ExitCode};

use claimstream_notifications::TemplateEditor;
use serde_json::json;

use super::answers::ItemAnswers;
use crate::{
    Exit,
    failure::Failure,
    template_folder::{TemplateFiles, TemplateFolder, files},
};

/// Shows what a push would change; the exit code is 1 if that is anything.
pub(super) async fn run(
    editor: &TemplateEditor,
    folder: &Path,
    ids: Vec<String>,
    mut answers: ItemAnswers,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let source = TemplateFolder::new(folder);
    let mut differs = false;
    for id in source.chosen(ids).map_err(Failure::Refused)? {
        let ours = source.files(&id).map_err(Failure::Refused)?;
        let ours = ours.ok_or_else(|| Failure::Refused(source.lacks(&id)))?;
        let theirs = editor.store().draft(&id).await?.map(|draft| files(&draft.template)).unwrap_or_default();
        // The files of the folder may say the same in other words, such as with a comment.
        let said = source.read(&id).map_err(Failure::Refused)?.map(|template| files(&template));
        if said.as_ref() == Some(&theirs) {
            continue;
        }
        differs = true;
        say_difference(&id, &theirs, said.as_ref().unwrap_or(&ours), &mut answers, out)?;
    }
    answers.finish(out)?;
    Ok(Exit::done_if(!differs).into())
}

fn say_difference(
    id: &str,
    theirs: &TemplateFiles,
    ours: &TemplateFiles,
    answers: &mut ItemAnswers,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let names: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for name in names {
        let (before, after) = (theirs.get(name).map_or("", |t| t), ours.get(name).map_or("", |t| t));
        if before == after {
            continue;
        }
        let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
        let (before, after) = (&before[same..], &after[same..]);
        let end = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
        let (removed, added) = (&before[..before.len() - end], &after[..after.len() - end]);
        let minus = removed.iter().map(|line| format!("\n- {line}"));
        let lines: String = minus.chain(added.iter().map(|line| format!("\n+ {line}"))).collect();
        let item = json!({"id": id, "file": name, "removed": removed, "added": added});
        answers.say(&format!("{id}/{name}{lines}"), item, out)?;
    }
    Ok(())
}
