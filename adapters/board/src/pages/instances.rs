use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::{InstanceId, InstanceListed};
use serde::Deserialize;

use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    shown::span,
};

/// How many instances a page shows.
const PAGE: u32 = 50;

/// The instances that have claimed messages, by id.
pub(crate) async fn show(
    context: RequestContext,
    cursor: Result<Query<InstancesCursor>, QueryRejection>,
) -> Response {
    let Some(holders) = &context.app.stores.holders else { return context.refuse(&Refusal::no_such_page()) };
    let after = match cursor.map(|Query(cursor)| cursor.read()) {
        Ok(Some(after)) => after,
        _ => {
            return context
                .refuse(&Refusal::invalid("This is no place in the list; start at the first page."));
        }
    };
    let found = match holders.instances(after, PAGE).await {
        Ok(found) => found,
        Err(error) => return context.refuse(&Refusal::of_store(&error)),
    };
    let frame = context.frame();
    let last = found.last().filter(|_| found.len() >= PAGE as usize);
    let page = InstancesPage {
        next: last.map(|last| frame.about("/instances", &[("after", &named(last.id))])),
        first: after.is_some().then(|| frame.to("/instances")),
        instances: found.iter().map(InstanceRow::of).collect(),
        frame,
    };
    answer(StatusCode::OK, &page)
}

/// Where a list is read on.
#[derive(Deserialize)]
pub(crate) struct InstancesCursor {
    after: Option<String>,
}

impl InstancesCursor {
    /// The instance to read on behind, if there is one; `None` if the cursor cannot be read.
    fn read(self) -> Option<Option<InstanceId>> {
        let Some(after) = self.after else { return Some(None) };
        u64::from_str_radix(&after, 16).ok().map(|id| Some(InstanceId(id)))
    }
}

fn named(InstanceId(id): InstanceId) -> String {
    format!("{id:016x}")
}

struct InstanceRow {
    id: String,
    label: String,
    seen: String,
}

impl InstanceRow {
    fn of(listed: &InstanceListed) -> Self {
        Self { id: named(listed.id), label: listed.label.clone(), seen: span(listed.seen) }
    }
}

#[derive(Template)]
#[template(path = "instances.html")]
struct InstancesPage {
    frame: Frame,
    instances: Vec<InstanceRow>,
    first: Option<String>,
    next: Option<String>,
}
