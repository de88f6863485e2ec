use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::LockListed;
use serde::Deserialize;

use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    shown::span,
};

/// How many locks a page shows.
const PAGE: u32 = 50;

/// The distributed locks of the database, by key.
pub(crate) async fn show(
    context: RequestContext,
    cursor: Result<Query<LocksCursor>, QueryRejection>,
) -> Response {
    let Some(holders) = &context.app.stores.holders else { return context.refuse(&Refusal::no_such_page()) };
    let after = match cursor {
        Ok(Query(cursor)) => cursor.after,
        Err(rejection) => return context.refuse(&Refusal::invalid(rejection.body_text())),
    };
    let found = match holders.locks(after.clone(), PAGE).await {
        Ok(found) => found,
        Err(error) => return context.refuse(&Refusal::of_store(&error)),
    };
    let frame = context.frame();
    let last = found.last().filter(|_| found.len() >= PAGE as usize);
    let page = LocksPage {
        next: last.map(|last| frame.about("/locks", &[("after", &last.key)])),
        first: after.is_some().then(|| frame.to("/locks")),
        locks: found.into_iter().map(LockRow::of).collect(),
        frame,
    };
    answer(StatusCode::OK, &page)
}

/// Where the list is read on.
#[derive(Deserialize)]
pub(crate) struct LocksCursor {
    after: Option<String>,
}

struct LockRow {
    key: String,
    fence: u64,
    ends: Option<String>,
}

impl LockRow {
    fn of(lock: LockListed) -> Self {
        Self { key: lock.key, fence: lock.fence, ends: lock.ends_in.map(span) }
    }
}

#[derive(Template)]
#[template(path = "locks.html")]
struct LocksPage {
    frame: Frame,
    locks: Vec<LockRow>,
    first: Option<String>,
    next: Option<String>,
}
