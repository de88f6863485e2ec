use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{
    Form,
    extract::{
        Path, Query,
        rejection::{FormRejection, QueryRejection},
    },
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use claimstream_domain::AuditAction;
use serde::Deserialize;
use uuid::Uuid;

use super::UuidPath;
use crate::{
    dead_letter_job::{DeadLetterJob, End, JobStatus},
    frame::{Frame, answer},
    previews::{Action, Preview},
    refusal::Refusal,
    request_context::RequestContext,
    selection::{Bounds, NamedSelection, SelectedLetters, Selection},
    shown::{count, span},
};

/// How many letters a preview counts, and how long that may take.
const BOUNDS: Bounds = Bounds { wanted: 10_000, looked_at: 20_000, time: Duration::from_secs(1), page: 500 };

/// Shows what would be revived or purged, and does nothing.
pub(crate) async fn preview(
    context: RequestContext,
    form: Result<Form<PreviewForm>, FormRejection>,
) -> Response {
    let read = form.map_err(|rejection| rejection.body_text()).and_then(|Form(form)| form.read());
    let (action, selection) = match read {
        Ok(read) => read,
        Err(why) => return context.refuse(&Refusal::invalid(why)),
    };
    let (at, timer) = (context.app.now(), &*context.app.timer);
    let part = match selection.part(&*context.app.stores.dead_letters, None, BOUNDS, timer).await {
        Ok(part) => part,
        Err(error) => return context.refuse(&Refusal::of_store(&error)),
    };
    let by = context.user().name;
    let kept = context.app.previews.keep(Preview { action, selection: selection.clone(), by, at });
    answer(StatusCode::OK, &DeadWorkPreview::of(action, &selection, &part, kept, context.frame()))
}

/// Begins what a preview has shown, and leads to the page that says how far it is.
pub(crate) async fn confirm(
    context: RequestContext,
    form: Result<Form<ConfirmForm>, FormRejection>,
) -> Response {
    let user = context.user();
    let preview = form.ok().and_then(|Form(form)| {
        let preview = context.app.previews.take(form.preview, &user.name, context.app.now())?;
        Some((form.preview, preview))
    });
    let Some((id, preview)) = preview else {
        let why = "This preview is too old, or was confirmed before. Ask for a new one; nothing was changed by this click.";
        return context.refuse(&Refusal::invalid(why));
    };
    if let Err(refusal) = context.note(preview.action.begins(), &preview.selection.subject()).await {
        context.app.previews.put_back(id, preview);
        return context.refuse(&refusal);
    }
    let (dead_letters, audit) = (context.app.stores.dead_letters.clone(), context.app.audit.clone());
    let timer = Arc::clone(&context.app.timer);
    let name = context.app.jobs.begin(preview, user, dead_letters, audit, timer);
    Redirect::to(&context.frame().to(&format!("/dead/work/{name}"))).into_response()
}

/// How far a job has come.
pub(crate) async fn show(
    context: RequestContext,
    name: UuidPath,
    refresh: Result<Query<Refresh>, QueryRejection>,
) -> Response {
    let repeats = !refresh.is_ok_and(|Query(refresh)| refresh.refresh.is_some_and(|it| it == "off"));
    match job(&context, name) {
        Ok((name, job)) => {
            context.app.error_groups.forget(&job.preview.selection.queue);
            answer(StatusCode::OK, &WorkPage::of(name, &job, repeats, context.frame()))
        }
        Err(refusal) => context.refuse(&refusal),
    }
}

/// Stops a job after the step under way.
pub(crate) async fn stop(context: RequestContext, name: UuidPath) -> Response {
    match job(&context, name) {
        Ok((name, job)) => {
            let Preview { action, selection, .. } = &job.preview;
            let subject = format!("{} of {}", action.name(), selection.subject());
            if let Err(refusal) = context.note(AuditAction::Stop, &subject).await {
                return context.refuse(&refusal);
            }
            job.stop();
            Redirect::to(&context.frame().to(&format!("/dead/work/{name}"))).into_response()
        }
        Err(refusal) => context.refuse(&refusal),
    }
}

fn job(context: &RequestContext, name: UuidPath) -> Result<(Uuid, Arc<DeadLetterJob>), Refusal> {
    let Ok(Path(name)) = name else { return Err(Refusal::no_such_page()) };
    let gone = "This process has no such job. It may have been restarted; what was not done is still among the dead letters.";
    context.app.jobs.get(name).map(|job| (name, job)).ok_or_else(|| Refusal::gone(gone))
}

/// Whether the page of a job reloads itself, which users may switch off.
#[derive(Deserialize)]
pub(crate) struct Refresh {
    refresh: Option<String>,
}

/// What is to be previewed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewForm {
    action: String,
    queue: Option<String>,
    class: Option<String>,
    id: Option<Uuid>,
}

impl PreviewForm {
    fn read(self) -> Result<(Action, Selection), String> {
        let action = Action::named(&self.action).ok_or("Choose to revive or to purge.")?;
        let named = NamedSelection::new(self.queue, self.class, self.id);
        Ok((action, named.read()?))
    }
}

/// Which preview is confirmed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfirmForm {
    preview: Uuid,
}

#[derive(Template)]
#[template(path = "dead_preview.html")]
struct DeadWorkPreview {
    frame: Frame,
    title: &'static str,
    what: String,
    count: String,
    is_nothing: bool,
    is_all: bool,
    is_purge: bool,
    newest: String,
    oldest: String,
    preview: String,
    back: String,
}

impl DeadWorkPreview {
    fn of(
        action: Action,
        selection: &Selection,
        part: &SelectedLetters,
        preview: Uuid,
        frame: Frame,
    ) -> Self {
        let ages = || part.chosen.iter().map(|letter| letter.dead_for);
        Self {
            title: action.title(),
            what: selection.described(),
            count: count(part.chosen.len() as u64),
            is_nothing: part.chosen.is_empty() && part.next.is_none(),
            is_all: part.next.is_none(),
            is_purge: action == Action::Purge,
            newest: span(ages().min().unwrap_or_default()),
            oldest: span(ages().max().unwrap_or_default()),
            preview: preview.to_string(),
            back: frame.about("/dead", &[("queue", selection.queue.as_str())]),
            frame,
        }
    }
}

#[derive(Template)]
#[template(path = "dead_work.html")]
struct WorkPage {
    frame: Frame,
    title: &'static str,
    done: &'static str,
    what: String,
    by: String,
    count: String,
    looked_at: String,
    end: Option<&'static str>,
    repeats: bool,
    still: String,
    stop: String,
    back: String,
}

impl WorkPage {
    fn of(name: Uuid, job: &DeadLetterJob, repeats: bool, frame: Frame) -> Self {
        let JobStatus { looked_at, done, end, .. } = job.status();
        let Preview { action, selection, by, .. } = &job.preview;
        let end = end.map(|end| match end {
            End::Finished => "Everything that the preview has shown was looked at.",
            End::Stopped => "A user has stopped it. The rest is still among the dead letters.",
            End::Failed => "The database has refused too often, or the store has a fault; the log of this process has the words. The rest is still among the dead letters: ask for a new preview.",
        });
        Self {
            title: action.title(),
            done: action.done(),
            what: selection.described(),
            by: by.clone(),
            count: count(done),
            looked_at: count(looked_at),
            end,
            repeats,
            still: frame.about(&format!("/dead/work/{name}"), &[("refresh", "off")]),
            stop: frame.to(&format!("/dead/work/{name}/stop")),
            back: frame.about("/dead", &[("queue", selection.queue.as_str())]),
            frame,
        }
    }
}
