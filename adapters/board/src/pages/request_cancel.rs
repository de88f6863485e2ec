use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use claimstream_domain::{
    AuditAction,
    notification::{Progress, RequestStatus},
};
use claimstream_ports::notification::{Cancelled, CancelledMessages};
use uuid::Uuid;

use super::{
    UuidPath,
    request::{Counts, may_be_cancelled},
};
use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    shown::count,
};

/// Shows what cancelling a request would take back, and does nothing.
pub(crate) async fn preview(context: RequestContext, id: UuidPath) -> Response {
    match progress(&context, id).await {
        Ok((id, progress)) => answer(StatusCode::OK, &CancelPreview::of(id, &progress, context.frame())),
        Err(refusal) => context.refuse(&refusal),
    }
}

/// Cancels a request, and says what was taken back.
pub(crate) async fn confirm(context: RequestContext, id: UuidPath) -> Response {
    match cancel(&context, id).await {
        Ok((id, taken_back)) => answer(StatusCode::OK, &CancelledPage::of(id, taken_back, context.frame())),
        Err(refusal) => context.refuse(&refusal),
    }
}

async fn progress(context: &RequestContext, id: UuidPath) -> Result<(Uuid, Progress), Refusal> {
    let Ok(Path(id)) = id else { return Err(Refusal::no_such_page()) };
    let progress = context.notifications()?.reports.progress(id).await?.ok_or_else(unknown)?;
    match may_be_cancelled(&progress) {
        true => Ok((id, progress)),
        false => Err(too_late(progress.status())),
    }
}

async fn cancel(context: &RequestContext, id: UuidPath) -> Result<(Uuid, CancelledMessages), Refusal> {
    let Ok(Path(id)) = id else { return Err(Refusal::no_such_page()) };
    let requests = &context.notifications()?.requests;
    context.note(AuditAction::Cancel, &format!("request {id}")).await?;
    match requests.cancel(id).await? {
        Cancelled::Yes(taken_back) => Ok((id, taken_back)),
        Cancelled::TooLate(status) => Err(too_late(status)),
        Cancelled::Unknown => Err(unknown()),
    }
}

fn unknown() -> Refusal {
    Refusal::gone("There is no request with this id: it was swept, or never taken in.")
}

fn too_late(status: RequestStatus) -> Refusal {
    Refusal::too_late(format!("The request is {status}, and nothing is left to take back."))
}

#[derive(Template)]
#[template(path = "request_cancel.html")]
struct CancelPreview {
    frame: Frame,
    id: String,
    counts: Counts,
    is_fanned_out: bool,
    confirm: String,
    back: String,
}

impl CancelPreview {
    fn of(id: Uuid, progress: &Progress, frame: Frame) -> Self {
        Self {
            id: id.to_string(),
            counts: Counts::of(progress),
            is_fanned_out: !matches!(progress.recorded, RequestStatus::Pending | RequestStatus::Processing),
            confirm: frame.to(&format!("/requests/{id}/cancel/confirm")),
            back: frame.to(&format!("/requests/{id}")),
            frame,
        }
    }
}

#[derive(Template)]
#[template(path = "request_cancelled.html")]
struct CancelledPage {
    frame: Frame,
    id: String,
    messages: String,
    delivered: String,
    in_hands: String,
    back: String,
}

impl CancelledPage {
    fn of(id: Uuid, taken_back: CancelledMessages, frame: Frame) -> Self {
        let CancelledMessages { messages, delivered, in_hands } = taken_back;
        Self {
            id: id.to_string(),
            messages: count(messages),
            delivered: count(delivered),
            in_hands: count(in_hands),
            back: frame.to(&format!("/requests/{id}")),
            frame,
        }
    }
}
