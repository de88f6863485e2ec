use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{
    Form,
    extract::{
        Path, Query,
        rejection::{FormRejection, PathRejection, QueryRejection},
    },
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use claimstream_domain::AuditAction;
use serde::Deserialize;
use uuid::Uuid;

use crate::{
    frame::{Frame, answer},
    previews::{Action, Preview},
    refusal::Refusal,
    selection::{Bounds, NamedSelection, Part, Selection},
    shown::{count, span},
    visit::Visit,
    work::{End, Standing, Work},
};

/// How many letters a preview counts, and how long that may take.
const BOUNDS: Bounds = Bounds { wanted: 10_000, looked_at: 20_000, time: Duration::from_secs(1), page: 500 };

/// Shows what would be revived or purged, and does nothing.
pub(crate) async fn preview(visit: Visit, form: Result<Form<PreviewForm>, FormRejection>) -> Response {
    let read = form.map_err(|rejection| rejection.body_text()).and_then(|Form(form)| form.read());
    let (action, selection) = match read {
        Ok(read) => read,
        Err(why) => return visit.refuse(&Refusal::invalid(why)),
    };
    let (at, timer) = (visit.desk.now(), &*visit.desk.timer);
    let part = match selection.part(&*visit.desk.stores.dead_letters, None, BOUNDS, timer).await {
        Ok(part) => part,
        Err(error) => return visit.refuse(&Refusal::of_store(&error)),
    };
    let by = visit.visitor().name;
    let kept = visit.desk.previews.keep(Preview { action, selection: selection.clone(), by, at });
    answer(StatusCode::OK, &PreviewPage::of(action, &selection, &part, kept, visit.frame()))
}

/// Begins what a preview has shown, and leads to the page that says how far it is.
pub(crate) async fn confirm(visit: Visit, form: Result<Form<ConfirmForm>, FormRejection>) -> Response {
    let visitor = visit.visitor();
    let preview = form.ok().and_then(|Form(form)| {
        let preview = visit.desk.previews.take(form.preview, &visitor.name, visit.desk.now())?;
        Some((form.preview, preview))
    });
    let Some((id, preview)) = preview else {
        let why = "This preview is too old, or was confirmed before. Ask for a new one; nothing was changed by this click.";
        return visit.refuse(&Refusal::invalid(why));
    };
    if let Err(refusal) = visit.note(preview.action.begins(), &preview.selection.subject()).await {
        visit.desk.previews.put_back(id, preview);
        return visit.refuse(&refusal);
    }
    let (dead_letters, audit) = (visit.desk.stores.dead_letters.clone(), visit.desk.audit.clone());
    let timer = Arc::clone(&visit.desk.timer);
    let name = visit.desk.works.begin(preview, visitor, dead_letters, audit, timer);
    Redirect::to(&visit.frame().to(&format!("/dead/work/{name}"))).into_response()
}

/// How far a work has come.
pub(crate) async fn show(
    visit: Visit,
    name: Result<Path<Uuid>, PathRejection>,
    refresh: Result<Query<Refresh>, QueryRejection>,
) -> Response {
    let repeats = !refresh.is_ok_and(|Query(refresh)| refresh.refresh.is_some_and(|it| it == "off"));
    match work(&visit, name) {
        Ok((name, work)) => {
            visit.desk.error_groups.forget(&work.preview.selection.queue);
            answer(StatusCode::OK, &WorkPage::of(name, &work, repeats, visit.frame()))
        }
        Err(refusal) => visit.refuse(&refusal),
    }
}

/// Stops a work after the step under way.
pub(crate) async fn stop(visit: Visit, name: Result<Path<Uuid>, PathRejection>) -> Response {
    match work(&visit, name) {
        Ok((name, work)) => {
            let Preview { action, selection, .. } = &work.preview;
            let subject = format!("{} of {}", action.name(), selection.subject());
            if let Err(refusal) = visit.note(AuditAction::Stop, &subject).await {
                return visit.refuse(&refusal);
            }
            work.stop();
            Redirect::to(&visit.frame().to(&format!("/dead/work/{name}"))).into_response()
        }
        Err(refusal) => visit.refuse(&refusal),
    }
}

fn work(visit: &Visit, name: Result<Path<Uuid>, PathRejection>) -> Result<(Uuid, Arc<Work>), Refusal> {
    let Ok(Path(name)) = name else { return Err(Refusal::no_such_page()) };
    let gone = "This process has no such work. It may have been restarted; what was not done is still among the dead letters.";
    visit.desk.works.get(name).map(|work| (name, work)).ok_or_else(|| Refusal::gone(gone))
}

/// Whether the page of a work reloads itself, which visitors may switch off.
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
struct PreviewPage {
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

impl PreviewPage {
    fn of(action: Action, selection: &Selection, part: &Part, preview: Uuid, frame: Frame) -> Self {
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
    fn of(name: Uuid, work: &Work, repeats: bool, frame: Frame) -> Self {
        let Standing { looked_at, done, end, .. } = work.standing();
        let Preview { action, selection, by, .. } = &work.preview;
        let end = end.map(|end| match end {
            End::Finished => "Everything that the preview has shown was looked at.",
            End::Stopped => "A visitor has stopped it. The rest is still among the dead letters.",
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
