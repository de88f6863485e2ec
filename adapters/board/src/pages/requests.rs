use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::notification::{RequestStatus, RequesterKind};
use claimstream_ports::notification::{RequestFilter, RequestListed, RequestPage};
use serde::Deserialize;
use uuid::Uuid;

use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    shown::span,
};

/// How many requests a page shows.
const LIMIT: u32 = 50;

/// The longest id of a requester, in bytes.
const LONGEST: usize = 128;

/// Notification requests, the newest first, a page at a time.
pub(crate) async fn show(
    context: RequestContext,
    named: Result<Query<NamedFilter>, QueryRejection>,
) -> Response {
    match read(&context, named).await {
        Ok((named, page)) => answer(StatusCode::OK, &RequestsPage::of(named, page, context.frame())),
        Err(refusal) => context.refuse(&refusal),
    }
}

async fn read(
    context: &RequestContext,
    named: Result<Query<NamedFilter>, QueryRejection>,
) -> Result<(NamedFilter, RequestPage), Refusal> {
    let notifications = context.notifications()?;
    let Query(named) = named.map_err(|rejection| Refusal::invalid(rejection.body_text()))?;
    let filter = named.read().map_err(Refusal::invalid)?;
    let page = notifications.list.list(&filter, named.after, LIMIT).await?;
    Ok((named, page))
}

/// Which requests are listed, as an address names it.
#[derive(Deserialize)]
pub(crate) struct NamedFilter {
    status: Option<String>,
    requester: Option<String>,
    /// The last request of the page before.
    after: Option<Uuid>,
}

impl NamedFilter {
    fn read(&self) -> Result<RequestFilter, String> {
        let status = given(&self.status).map(str::parse::<RequestStatus>).transpose();
        let requester = given(&self.requester);
        if requester.is_some_and(|id| id.len() > LONGEST) {
            return Err(format!("The id of a requester has at most {LONGEST} bytes."));
        }
        Ok(RequestFilter {
            status: status.map_err(|_| "There is no such status; choose one of the list.")?,
            requester: requester.map(str::to_owned),
        })
    }

    /// The values by which an address names the filter and a place in its list.
    fn values<'a>(&'a self, after: Option<&'a str>) -> Vec<(&'static str, &'a str)> {
        let filter = [("status", given(&self.status)), ("requester", given(&self.requester))];
        let all = filter.into_iter().chain([("after", after)]);
        all.filter_map(|(name, value)| value.map(|value| (name, value))).collect()
    }
}

/// What is not empty.
fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

#[derive(Template)]
#[template(path = "requests.html")]
struct RequestsPage {
    frame: Frame,
    statuses: Vec<StatusChoice>,
    requester: String,
    requests: Vec<RequestRow>,
    is_filtered: bool,
    first: Option<String>,
    next: Option<String>,
}

struct StatusChoice {
    name: &'static str,
    is_chosen: bool,
}

struct RequestRow {
    id: String,
    link: String,
    status: &'static str,
    requester: String,
    age: String,
}

impl RequestsPage {
    fn of(named: NamedFilter, page: RequestPage, frame: Frame) -> Self {
        let recorded = RequestStatus::ALL.into_iter().filter(|status| status.is_recorded());
        let chosen = given(&named.status);
        let statuses = recorded.map(RequestStatus::name);
        let statuses = statuses.map(|name| StatusChoice { name, is_chosen: chosen == Some(name) });
        let next = page.next.map(|next| next.to_string());
        Self {
            statuses: statuses.collect(),
            requester: given(&named.requester).unwrap_or_default().to_owned(),
            requests: page.requests.iter().map(|request| RequestRow::of(request, &frame)).collect(),
            is_filtered: chosen.or(given(&named.requester)).is_some(),
            first: named.after.map(|_| frame.about("/requests", &named.values(None))),
            next: next.map(|next| frame.about("/requests", &named.values(Some(&next)))),
            frame,
        }
    }
}

impl RequestRow {
    fn of(request: &RequestListed, frame: &Frame) -> Self {
        Self {
            id: request.id.to_string(),
            link: frame.to(&format!("/requests/{}", request.id)),
            status: request.status.name(),
            requester: requester(request),
            age: span(request.age),
        }
    }
}

/// The requester of a request, such as `service shop`.
pub(super) fn requester(request: &RequestListed) -> String {
    let kind = match request.requester.kind {
        RequesterKind::User => "user",
        RequesterKind::Admin => "admin",
        RequesterKind::Service => "service",
    };
    format!("{kind} {}", request.requester.id)
}
