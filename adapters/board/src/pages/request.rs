use askama::Template;
use axum::{
    Form,
    extract::{
        Path, Query,
        rejection::{FormRejection, QueryRejection},
    },
    http::StatusCode,
    response::Response,
};
use claimstream_domain::{
    AuditAction, MessageStanding, Reason,
    notification::{Progress, ReceiptKind, RequestStatus},
};
use serde::Deserialize;
use uuid::Uuid;

use super::{UuidPath, requests::requester};
use crate::{
    frame::{Frame, answer},
    known_request::{KnownDelivery, KnownRequest},
    refusal::Refusal,
    request_context::RequestContext,
    shown::{count, span},
    standing::{self, Sight},
};

/// One request with a page of its messages; recipients are left out.
pub(crate) async fn show(
    context: RequestContext,
    id: UuidPath,
    cursor: Result<Query<MessagesCursor>, QueryRejection>,
) -> Response {
    let cursor = cursor.map(|Query(cursor)| cursor).map_err(|rejection| rejection.body_text());
    match find(&context, id, cursor).await {
        Ok((known, cursor)) => {
            answer(StatusCode::OK, &RequestPage::of(&known, &cursor, Sight::Hidden, context.frame()))
        }
        Err(refusal) => context.refuse(&refusal),
    }
}

/// The same with its recipients. The audit log names the user who asks for them.
pub(crate) async fn reveal(
    context: RequestContext,
    id: UuidPath,
    cursor: Result<Form<MessagesCursor>, FormRejection>,
) -> Response {
    let cursor = cursor.map(|Form(cursor)| cursor).map_err(|rejection| rejection.body_text());
    match find_recipients(&context, id, cursor).await {
        Ok((known, cursor)) => {
            answer(StatusCode::OK, &RequestPage::of(&known, &cursor, Sight::Shown, context.frame()))
        }
        Err(refusal) => context.refuse(&refusal),
    }
}

async fn find_recipients(
    context: &RequestContext,
    id: UuidPath,
    cursor: Result<MessagesCursor, String>,
) -> Result<(KnownRequest, MessagesCursor), Refusal> {
    let found = find(context, id, cursor).await?;
    context.note(AuditAction::ShowRecipients, &format!("request {}", found.0.request.id)).await?;
    Ok(found)
}

async fn find(
    context: &RequestContext,
    id: UuidPath,
    cursor: Result<MessagesCursor, String>,
) -> Result<(KnownRequest, MessagesCursor), Refusal> {
    let Ok(Path(id)) = id else { return Err(Refusal::no_such_page()) };
    let cursor = cursor.map_err(Refusal::invalid)?;
    Ok((KnownRequest::of(&context.app.stores, id, cursor.after).await?, cursor))
}

/// Where a page of messages begins.
#[derive(Deserialize)]
pub(crate) struct MessagesCursor {
    /// The last message of the page before.
    after: Option<Uuid>,
}

#[derive(Template)]
#[template(path = "request.html")]
struct RequestPage {
    frame: Frame,
    id: String,
    status: &'static str,
    reason: Option<String>,
    requester: String,
    age: String,
    own: Option<Own>,
    own_link: String,
    counts: Counts,
    receipts: Vec<(&'static str, String)>,
    rows: Vec<DeliveryRow>,
    is_hidden: bool,
    may_be_cancelled: bool,
    after: Option<String>,
    first: Option<String>,
    next: Option<String>,
}

/// Where the request's own message stands.
struct Own {
    waits: String,
    holder: Option<String>,
    attempts: String,
    last_error: Option<String>,
}

/// The messages of a request by status.
pub(super) struct Counts {
    pub(super) pending: String,
    pub(super) delivered: String,
    pub(super) skipped: String,
    pub(super) failed: String,
    pub(super) cancelled: String,
}

struct DeliveryRow {
    id: String,
    link: String,
    channel: &'static str,
    recipient: Option<String>,
    status: &'static str,
    attempts: String,
    next: String,
    holder: Option<String>,
    provider: String,
    receipt: &'static str,
    reason: String,
}

impl RequestPage {
    fn of(known: &KnownRequest, cursor: &MessagesCursor, sight: Sight, frame: Frame) -> Self {
        let KnownRequest { request, progress, standing, messages, next } = known;
        let path = format!("/requests/{}", request.id);
        let reason = progress.reason.as_deref().map(|why| standing::reason(&Reason::new(why), sight));
        let next = next.map(|next| next.to_string());
        Self {
            id: request.id.to_string(),
            status: progress.status().name(),
            reason,
            requester: requester(request),
            age: span(request.age),
            own: standing.as_ref().map(|standing| Own::of(standing, sight)),
            own_link: frame.to(&format!("/message/{}", request.id)),
            counts: Counts::of(progress),
            receipts: receipts(progress),
            rows: messages.iter().map(|message| DeliveryRow::of(message, sight, &frame)).collect(),
            is_hidden: sight == Sight::Hidden,
            may_be_cancelled: may_be_cancelled(progress),
            after: cursor.after.map(|after| after.to_string()),
            first: cursor.after.map(|_| frame.to(&path)),
            next: next.map(|next| frame.about(&path, &[("after", &next)])),
            frame,
        }
    }

    fn action(&self, name: &str) -> String {
        self.frame.to(&format!("/requests/{}/{name}", self.id))
    }
}

/// Whether there is anything that cancelling takes back.
pub(super) fn may_be_cancelled(progress: &Progress) -> bool {
    let are_pending = progress.pending > 0;
    progress.recorded.is_cancellable(are_pending)
        && (are_pending || progress.recorded != RequestStatus::Cancelled)
}

/// How many messages have each kind of receipt, as far as there are any.
fn receipts(progress: &Progress) -> Vec<(&'static str, String)> {
    let counted = ReceiptKind::ALL.map(|kind| (kind.name(), progress.receipts.of(kind)));
    counted.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name, count(n))).collect()
}

impl Own {
    fn of(standing: &MessageStanding, sight: Sight) -> Self {
        Self {
            waits: standing::waits(&standing.state),
            holder: standing::holder(&standing.state),
            attempts: count(u64::from(standing.attempts)),
            last_error: standing.last_error.as_ref().map(|reason| standing::reason(reason, sight)),
        }
    }
}

impl Counts {
    pub(super) fn of(progress: &Progress) -> Self {
        Self {
            pending: count(progress.pending),
            delivered: count(progress.delivered),
            skipped: count(progress.skipped),
            failed: count(progress.failed),
            cancelled: count(progress.cancelled),
        }
    }
}

impl DeliveryRow {
    fn of(message: &KnownDelivery, sight: Sight, frame: &Frame) -> Self {
        let KnownDelivery { record, standing, provider, receipt } = message;
        let error = standing.as_ref().and_then(|standing| standing.last_error.as_ref());
        let reason = record.reason.as_ref().or(error).map(|reason| standing::reason(reason, sight));
        let standing = standing.as_ref();
        Self {
            id: record.id.to_string(),
            link: frame.to(&format!("/message/{}", record.id)),
            channel: record.channel.name(),
            recipient: (sight == Sight::Shown).then(|| record.recipient.clone()),
            status: record.status.name(),
            attempts: standing.map(|it| count(u64::from(it.attempts))).unwrap_or_default(),
            next: standing.map(|it| standing::waits(&it.state)).unwrap_or_default(),
            holder: standing.and_then(|it| standing::holder(&it.state)),
            provider: provider.clone().unwrap_or_default(),
            receipt: receipt.map_or("", ReceiptKind::name),
            reason: reason.unwrap_or_default(),
        }
    }
}
