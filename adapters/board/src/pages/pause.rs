use std::sync::Arc;

use axum::{
    Form,
    extract::rejection::FormRejection,
    response::{IntoResponse, Redirect, Response},
};
use claimstream_domain::{AuditAction, PauseNote, PausedQueue, QueueName};
use claimstream_ports::PauseQueues;
use serde::Deserialize;

use crate::{pauses::of_queue, refusal::Refusal, request_context::RequestContext, shown::span};

/// Pauses a queue; one that is paused already keeps its first note, which the page of the queue shows, and nothing is noted.
pub(crate) async fn pause(context: RequestContext, form: Result<Form<PauseForm>, FormRejection>) -> Response {
    let done = async {
        let (queue, why) = read(form)?;
        let note = PauseNote::new(&context.user().name, why.as_deref());
        let note = note.map_err(|refused| Refusal::invalid(format!("Nothing was paused: {refused}.")))?;
        let store = store(&context)?;
        if !is_paused(&*store, &queue).await? {
            context.note(AuditAction::Pause, &format!("queue {queue}")).await?;
            store.pause(&queue, &note).await.map_err(|error| Refusal::of_store(&error))?;
        }
        Ok(queue)
    };
    lead_to_queue(&context, done.await).await
}

/// Resumes a queue; one that is not paused stays as it is.
pub(crate) async fn resume(
    context: RequestContext,
    form: Result<Form<PauseForm>, FormRejection>,
) -> Response {
    let done = async {
        let (queue, _) = read(form)?;
        let store = store(&context)?;
        if is_paused(&*store, &queue).await? {
            context.note(AuditAction::Resume, &format!("queue {queue}")).await?;
            store.resume(&queue, &context.user().name).await.map_err(|error| Refusal::of_store(&error))?;
        }
        Ok(queue)
    };
    lead_to_queue(&context, done.await).await
}

/// Which queue is meant, and why.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PauseForm {
    queue: String,
    why: Option<String>,
}

/// The pause of a queue, as pages show it.
pub(crate) struct PauseShown {
    pub(crate) since: String,
    pub(crate) by: String,
    pub(crate) why: Option<String>,
}

impl PauseShown {
    pub(crate) fn of(paused: &PausedQueue) -> Self {
        let PausedQueue { queue: _, since, note } = paused;
        Self { since: span(*since), by: note.by().to_owned(), why: note.why().map(str::to_owned) }
    }
}

fn read(form: Result<Form<PauseForm>, FormRejection>) -> Result<(QueueName, Option<String>), Refusal> {
    let Form(PauseForm { queue, why }) = form.map_err(|rejection| Refusal::invalid(rejection.body_text()))?;
    let queue = QueueName::new(&queue).map_err(|refused| Refusal::invalid(refused.to_string()))?;
    let why = why.map(|why| why.trim().to_owned()).filter(|why| !why.is_empty());
    Ok((queue, why))
}

fn store(context: &RequestContext) -> Result<Arc<dyn PauseQueues>, Refusal> {
    context.app.pauses.store().cloned().ok_or_else(Refusal::no_such_page)
}

/// How the queue stands now; what changes nothing is not noted.
async fn is_paused(store: &dyn PauseQueues, queue: &QueueName) -> Result<bool, Refusal> {
    let paused = store.paused().await.map_err(|error| Refusal::of_store(&error))?;
    Ok(of_queue(&paused, queue).is_some())
}

/// The page of the queue, which shows how it stands now.
async fn lead_to_queue(context: &RequestContext, done: Result<QueueName, Refusal>) -> Response {
    context.app.pauses.forget().await;
    match done {
        Ok(queue) => {
            let page = context.frame().about("/queue", &[("queue", queue.as_str())]);
            Redirect::to(&page).into_response()
        }
        Err(refusal) => context.refuse(&refusal),
    }
}
