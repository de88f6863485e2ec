use std::time::Duration;

use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::step::{RunKind, RunListed, RunPlace};
use claimstream_ports::{StoreError, Timer, step::ListRuns};

use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    run_query::{RunChoice, RunQuery},
    shown::span,
};

/// How many runs a page shows, and for how long it looks for them.
const MOST: u32 = 50;
const LONGEST: Duration = Duration::from_millis(300);

type RunQueryResult = Result<Query<RunQuery>, QueryRejection>;

/// Sagas, the one that has stood still for longest first.
pub(crate) async fn sagas(context: RequestContext, asked: RunQueryResult) -> Response {
    list(context, asked, &SAGAS).await
}

/// TCC transactions.
pub(crate) async fn transactions(context: RequestContext, asked: RunQueryResult) -> Response {
    list(context, asked, &TRANSACTIONS).await
}

/// Branches of TCC transactions.
pub(crate) async fn branches(context: RequestContext, asked: RunQueryResult) -> Response {
    list(context, asked, &BRANCHES).await
}

/// Events of timers.
pub(crate) async fn events(context: RequestContext, asked: RunQueryResult) -> Response {
    list(context, asked, &EVENTS).await
}

/// What is special in the list of a kind.
struct RunListKind {
    kind: RunKind,
    path: &'static str,
    title: &'static str,
    /// A sentence on what is listed.
    about: &'static str,
    headings: [&'static str; 2],
    /// What stands under these headings.
    names: fn(&RunListed) -> [&str; 2],
    /// The page of one run, and the values of its address.
    one: &'static str,
    values: fn(&RunListed) -> Vec<(&'static str, &str)>,
    /// Whether runs of this kind have names of their own.
    has_names: bool,
    /// Another list, and its name.
    other: Option<(&'static str, &'static str)>,
}

const SAGAS: RunListKind = RunListKind {
    kind: RunKind::Saga,
    path: "/sagas",
    title: "Sagas",
    about: "Sagas whose home is this database. A step writes when it has been taken, so a saga that is tried again and again stands still.",
    headings: ["Saga", "Id"],
    names: |run| [run.key.scope(), run.key.run()],
    one: "/sagas/one",
    values: |run| vec![("scope", run.key.scope()), ("id", run.key.run())],
    has_names: true,
    other: None,
};

const TRANSACTIONS: RunListKind = RunListKind {
    kind: RunKind::Tcc,
    path: "/tcc",
    title: "TCC transactions",
    about: "Transactions whose coordinator is in this database.",
    headings: ["Transaction", "Branch"],
    names: |run| [run.key.run(), run.key.step()],
    one: "/tcc/one",
    values: |run| vec![("id", run.key.run())],
    has_names: false,
    other: Some(("/tcc/branches", "Branches in this database")),
};

const BRANCHES: RunListKind = RunListKind {
    kind: RunKind::Branch,
    path: "/tcc/branches",
    title: "TCC branches",
    about: "Branches whose resource is in this database; the coordinator may be in another one. A branch that is tried holds a reservation.",
    other: Some(("/tcc", "Transactions of this database")),
    ..TRANSACTIONS
};

const EVENTS: RunListKind = RunListKind {
    kind: RunKind::TimerEvent,
    path: "/timers/events",
    title: "Events of timers",
    about: "Events that were begun: each is one occurrence of a timer.",
    headings: ["Scheme", "Occurrence"],
    names: |run| [scheme(run), run.key.run()],
    one: "/timers/event",
    values: |run| vec![("scheme", scheme(run)), ("occurrence", run.key.run())],
    has_names: true,
    other: Some(("/timers", "Timers and their next occurrences")),
};

fn scheme(run: &RunListed) -> &str {
    run.key.scope().strip_prefix("timer:").unwrap_or(run.key.scope())
}

async fn list(context: RequestContext, asked: RunQueryResult, kind: &RunListKind) -> Response {
    let Some(stores) = context.app.stores.runs.clone() else {
        return context.refuse(&Refusal::no_such_page());
    };
    let asked = asked.map_err(|rejection| rejection.body_text());
    let choice = match asked.and_then(|Query(asked)| asked.read(kind.kind)) {
        Ok(choice) => choice,
        Err(why) => return context.refuse(&Refusal::invalid(why)),
    };
    let (runs, next) = match look(&*stores.runs, &choice, &*context.app.timer).await {
        Ok(found) => found,
        Err(error) => return context.refuse(&Refusal::of_store(&error)),
    };
    let frame = context.frame();
    let next = next.map(|next| {
        let place = next.to_string();
        let values: Vec<_> = choice.values().into_iter().chain([("after", place.as_str())]).collect();
        frame.about(kind.path, &values)
    });
    let page = RunListPage {
        title: kind.title,
        about: kind.about,
        path: frame.to(kind.path),
        headings: kind.headings,
        has_names: kind.has_names,
        runs: runs.iter().map(|run| RunRow::of(run, kind, &frame)).collect(),
        first: choice.after.is_some().then(|| frame.about(kind.path, &choice.values())),
        other: kind.other.map(|(path, name)| (frame.to(path), name)),
        next,
        choice,
        frame,
    };
    answer(StatusCode::OK, &page)
}

/// The runs of a page; a call of the store may find few of them, or none, although there are more.
async fn look(
    store: &dyn ListRuns,
    choice: &RunChoice,
    timer: &dyn Timer,
) -> Result<(Vec<RunListed>, Option<RunPlace>), StoreError> {
    let (began, mut runs, mut place) = (timer.now(), Vec::new(), choice.after.clone());
    loop {
        let page = store.runs(&choice.filter, place, MOST - runs.len() as u32).await?;
        runs.extend(page.runs);
        place = page.next;
        if place.is_none() || runs.len() >= MOST as usize || timer.now() - began >= LONGEST {
            return Ok((runs, place));
        }
    }
}

struct RunRow {
    names: [String; 2],
    link: String,
    state: &'static str,
    quiet_for: String,
    age: String,
}

impl RunRow {
    fn of(run: &RunListed, kind: &RunListKind, frame: &Frame) -> Self {
        Self {
            names: (kind.names)(run).map(str::to_owned),
            link: frame.about(kind.one, &(kind.values)(run)),
            state: run.standing.state,
            quiet_for: span(run.quiet_for),
            age: span(run.age),
        }
    }
}

#[derive(Template)]
#[template(path = "run_list.html")]
struct RunListPage {
    frame: Frame,
    title: &'static str,
    about: &'static str,
    path: String,
    headings: [&'static str; 2],
    has_names: bool,
    choice: RunChoice,
    runs: Vec<RunRow>,
    first: Option<String>,
    next: Option<String>,
    other: Option<(String, &'static str)>,
}
