use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::AuditListed;
use serde::Deserialize;

use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    shown::{count, span},
};

/// How many entries a page shows.
const MOST: u32 = 50;

/// What people did, newest first, a page at a time.
pub(crate) async fn show(
    context: RequestContext,
    cursor: Result<Query<AuditCursor>, QueryRejection>,
) -> Response {
    let Some(log) = &context.app.stores.audit else { return context.refuse(&Refusal::no_such_page()) };
    let Ok(Query(AuditCursor { after })) = cursor else {
        return context.refuse(&Refusal::invalid("This is no place in the list; start at the first page."));
    };
    let entries = match log.entries(after, MOST).await {
        Ok(entries) => entries,
        Err(error) => return context.refuse(&Refusal::of_store(&error)),
    };
    let frame = context.frame();
    let last = entries.last().filter(|_| entries.len() >= MOST as usize);
    let page = AuditPage {
        next: last.map(|last| frame.about("/audit", &[("after", &last.number.to_string())])),
        first: after.is_some().then(|| frame.to("/audit")),
        entries: entries.into_iter().map(EntryRow::of).collect(),
        frame,
    };
    answer(StatusCode::OK, &page)
}

/// Behind which entry a page begins.
#[derive(Deserialize)]
pub(crate) struct AuditCursor {
    after: Option<u64>,
}

struct EntryRow {
    age: String,
    actor: String,
    action: String,
    subject: String,
    count: String,
}

impl EntryRow {
    fn of(entry: AuditListed) -> Self {
        let AuditListed { number: _, age, actor, action, subject, count: number } = entry;
        Self { age: span(age), actor, action, subject, count: number.map(count).unwrap_or_default() }
    }
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    frame: Frame,
    entries: Vec<EntryRow>,
    first: Option<String>,
    next: Option<String>,
}
