use askama::Template;
use axum::{Form, extract::rejection::FormRejection, http::StatusCode, response::Response};
use claimstream_domain::{AuditAction, AuditEntry};
use claimstream_ports::LockGuard;
use serde::Deserialize;

use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
};

/// Shows what the release of a lock would do, and does nothing.
pub(crate) async fn preview(
    context: RequestContext,
    form: Result<Form<LockForm>, FormRejection>,
) -> Response {
    match form {
        Ok(Form(LockForm { key, fence })) => {
            let frame = context.frame();
            answer(StatusCode::OK, &LockReleasePreview { back: frame.to("/locks"), key, fence, frame })
        }
        Err(rejection) => context.refuse(&Refusal::invalid(rejection.body_text())),
    }
}

/// Releases the lock that a preview has shown: under its fence, and no other.
pub(crate) async fn release(
    context: RequestContext,
    form: Result<Form<LockForm>, FormRejection>,
) -> Response {
    let Some(holders) = &context.app.stores.holders else { return context.refuse(&Refusal::no_such_page()) };
    let LockForm { key, fence } = match form {
        Ok(Form(form)) => form,
        Err(rejection) => return context.refuse(&Refusal::invalid(rejection.body_text())),
    };
    let subject = format!("lock {} under fence {fence}", AuditEntry::named(&key));
    if let Err(refusal) = context.note(AuditAction::ReleaseLock, &subject).await {
        return context.refuse(&refusal);
    }
    match holders.release(LockGuard { key: key.clone(), fence }).await {
        Ok(true) => {
            let frame = context.frame();
            answer(StatusCode::OK, &ReleasedPage { back: frame.to("/locks"), key, frame })
        }
        Ok(false) => context.refuse(&Refusal::changed(
            "The lock is not held under the fence that the page has shown. Nothing was released; look at the locks again.",
        )),
        Err(error) => context.refuse(&Refusal::of_store(&error)),
    }
}

/// Which lock is meant, by the fence that was shown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LockForm {
    key: String,
    fence: u64,
}

#[derive(Template)]
#[template(path = "lock_preview.html")]
struct LockReleasePreview {
    frame: Frame,
    key: String,
    fence: u64,
    back: String,
}

#[derive(Template)]
#[template(path = "lock_released.html")]
struct ReleasedPage {
    frame: Frame,
    key: String,
    back: String,
}
