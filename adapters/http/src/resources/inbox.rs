use std::sync::Arc;

use axum::{
    Extension,
    extract::{self, Path, Query, rejection::QueryRejection},
    http::HeaderMap,
    response::sse::{KeepAlive, Sse},
};
use claimstream_domain::notification::{InAppEntry, InAppPage, NewInAppEntry};
use futures::stream;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{id, limit, query};
use crate::{
    caller::{Caller, Inbox},
    inbox::{Cursor, EntryShown, Feed, Inboxes},
    json::{self, Json},
    payload::Payload,
    problem::{Fault, Problem},
    state::AppState,
};

/// The routes of inboxes. They need a token with the scope inbox, or a pass for the one inbox.
pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(mark))
        .routes(routes!(mark_all))
        .routes(routes!(pass))
        .routes(routes!(events))
}

/// Which entries.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct InboxQuery {
    /// The `next` of the page before.
    #[param(value_type = Option<Uuid>)]
    after: Option<String>,
    /// Only those that the user has not read.
    unread: Option<bool>,
    /// The most entries, 1 to 500; 50 unless given.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: Option<String>,
}

/// A page of an inbox, the newest first.
#[derive(Serialize, ToSchema)]
struct InboxShown {
    entries: Vec<EntryShown>,
    /// How many entries the user has not read; 1000 stands for that and more.
    unread: u64,
    /// Where the next page begins; `null` if there is none.
    #[schema(required)]
    next: Option<Uuid>,
    /// What the events of new entries follow: `after` of that route. `null` if this is not the first page of all entries.
    #[schema(required)]
    events_after: Option<String>,
}

/// How many entries were marked.
#[derive(Serialize, ToSchema)]
struct Marked {
    /// Those that the user had not read before.
    marked: u64,
    /// How many the user has not read now.
    unread: u64,
}

/// Up to which entry.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct UpToQuery {
    /// The newest entry that the user has seen; the newest one of all unless given.
    #[param(value_type = Option<Uuid>)]
    up_to: Option<String>,
}

/// For how long.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PassAsked {
    /// 1 to 3600; 900 unless given.
    #[serde(default = "PassAsked::usual")]
    #[schema(minimum = 1, maximum = 3600)]
    seconds: u64,
}

/// A pass for one inbox.
#[derive(Serialize, ToSchema)]
struct PassGiven {
    /// The token, to be used like one of a program: `Authorization: Bearer TOKEN`, or `token` in the query of events.
    token: String,
    /// When it ends, in seconds from now.
    expires_in: u64,
}

/// After which event.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// `events_after` of the inbox; only what is new unless given. The header `Last-Event-ID` comes before it.
    after: Option<String>,
    /// A pass, for browsers, whose EventSource sends no headers.
    token: Option<String>,
}

/// Shows a user's inbox, the newest entries first.
#[utoipa::path(get, path = "/v1/recipients/{id}/inbox", operation_id = "list_inbox", tag = "inbox",
    params(("id" = String, Path, min_length = 1, max_length = 255, description = "The user's id"), InboxQuery), responses(
    (status = 200, description = "A page", body = InboxShown),
    (status = 400, description = "A parameter is wrong", content_type = "application/problem+json", body = Problem),
    (status = 401, description = "No valid token", content_type = "application/problem+json", body = Problem),
    (status = 403, description = "The token lacks the scope inbox, or is for another inbox", content_type = "application/problem+json", body = Problem),
    (status = 503, description = "Try again", content_type = "application/problem+json", body = Problem),
))]
async fn list(
    state: extract::State<Arc<AppState>>,
    Extension(inboxes): Extension<Arc<Inboxes>>,
    Path(user): Path<String>,
    headers: HeaderMap,
    page: Result<Query<InboxQuery>, QueryRejection>,
) -> Result<Json<InboxShown>, Problem> {
    inboxes.admit(&state, &headers, None, known(&user)?)?;
    let InboxQuery { after, unread, limit: most } = query(page)?;
    let (after, most) = (after.map(|after| id("after", &after)).transpose()?, limit(most.as_deref())?);
    let page = InAppPage { user, only_unread: unread.unwrap_or_default(), after, limit: most };
    let entries = state.ask(state.stores.in_app.page(&page)).await?;
    let unread = state.ask(state.stores.in_app.unread(&page.user)).await?;
    let next = entries.last().filter(|_| entries.len() as u64 == u64::from(most)).map(|last| last.entry.id);
    let is_whole = after.is_none() && !page.only_unread;
    let events_after = is_whole.then(|| newest(&entries).unwrap_or_else(Cursor::beginning).to_string());
    let entries = entries.iter().map(EntryShown::of).collect();
    Ok(Json(InboxShown { entries, unread, next, events_after }))
}

/// Where events continue after a page.
fn newest(entries: &[InAppEntry]) -> Option<Cursor> {
    let last = entries.first()?.entry.id;
    let lately = entries.iter().skip(1).filter(|one| one.age <= entries[0].age + Cursor::MARKED);
    Cursor::after(std::iter::once(last).chain(lately.map(|one| one.entry.id)))
}

/// Notes that the user has read an entry.
#[utoipa::path(post, path = "/v1/recipients/{id}/inbox/{entry}/read", operation_id = "mark_inbox_entry_read", tag = "inbox",
    params(("id" = String, Path, min_length = 1, max_length = 255, description = "The user's id"), ("entry" = Uuid, Path, description = "The entry")), responses(
    (status = 200, description = "It is noted; an entry that is read or gone changes nothing", body = Marked),
    (status = 400, description = "A parameter is wrong", content_type = "application/problem+json", body = Problem),
    (status = 401, description = "No valid token", content_type = "application/problem+json", body = Problem),
    (status = 403, description = "The token lacks the scope inbox, or is for another inbox", content_type = "application/problem+json", body = Problem),
    (status = 503, description = "Try again", content_type = "application/problem+json", body = Problem),
))]
async fn mark(
    state: extract::State<Arc<AppState>>,
    Extension(inboxes): Extension<Arc<Inboxes>>,
    Path((user, entry)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<Marked>, Problem> {
    inboxes.admit(&state, &headers, None, known(&user)?)?;
    let entry = id("entry", &entry)?;
    let marked = state.ask(state.stores.in_app.mark_read(&user, &[entry])).await?;
    marked_of(&state, &user, marked).await
}

/// Notes that the user has read all entries that are no newer than one.
#[utoipa::path(post, path = "/v1/recipients/{id}/inbox/read-all", operation_id = "mark_inbox_read", tag = "inbox",
    params(("id" = String, Path, min_length = 1, max_length = 255, description = "The user's id"), UpToQuery), responses(
    (status = 200, description = "It is noted", body = Marked),
    (status = 400, description = "A parameter is wrong", content_type = "application/problem+json", body = Problem),
    (status = 401, description = "No valid token", content_type = "application/problem+json", body = Problem),
    (status = 403, description = "The token lacks the scope inbox, or is for another inbox", content_type = "application/problem+json", body = Problem),
    (status = 503, description = "Try again", content_type = "application/problem+json", body = Problem),
))]
async fn mark_all(
    state: extract::State<Arc<AppState>>,
    Extension(inboxes): Extension<Arc<Inboxes>>,
    Path(user): Path<String>,
    headers: HeaderMap,
    up_to: Result<Query<UpToQuery>, QueryRejection>,
) -> Result<Json<Marked>, Problem> {
    inboxes.admit(&state, &headers, None, known(&user)?)?;
    let newest = match query(up_to)?.up_to {
        Some(entry) => Some(id("up_to", &entry)?),
        None => {
            let page = InAppPage { user: user.clone(), only_unread: false, after: None, limit: 1 };
            state.ask(state.stores.in_app.page(&page)).await?.first().map(|one| one.entry.id)
        }
    };
    let marked = match newest {
        Some(newest) => state.ask(state.stores.in_app.mark_read_up_to(&user, newest)).await?,
        None => 0,
    };
    marked_of(&state, &user, marked).await
}

async fn marked_of(state: &AppState, user: &str, marked: u64) -> Result<Json<Marked>, Problem> {
    let unread = state.ask(state.stores.in_app.unread(user)).await?;
    Ok(Json(Marked { marked, unread }))
}

/// Makes a pass, by which a browser reads one user's inbox for a while.
#[utoipa::path(post, path = "/v1/recipients/{id}/inbox/pass", operation_id = "make_inbox_pass", tag = "inbox",
    params(("id" = String, Path, min_length = 1, max_length = 255, description = "The user's id")), request_body = Option<PassAsked>, responses(
    (status = 200, description = "The pass", body = PassGiven),
    (status = 400, description = "The body is wrong", content_type = "application/problem+json", body = Problem),
    (status = 401, description = "No valid token", content_type = "application/problem+json", body = Problem),
    (status = 403, description = "The token lacks the scope inbox", content_type = "application/problem+json", body = Problem),
    (status = 404, description = "The server makes no passes: serve.inbox_key is not set", content_type = "application/problem+json", body = Problem),
    (status = 408, description = "The body arrives too slowly", content_type = "application/problem+json", body = Problem),
    (status = 413, description = "The body is too long", content_type = "application/problem+json", body = Problem),
    (status = 415, description = "The body is not JSON", content_type = "application/problem+json", body = Problem),
))]
async fn pass(
    _: Caller<Inbox>,
    Extension(inboxes): Extension<Arc<Inboxes>>,
    Path(user): Path<String>,
    payload: Payload,
) -> Result<Json<PassGiven>, Problem> {
    let user = known(&user)?;
    let asked = match payload.bytes.is_empty() {
        true => None,
        false => json::read::<Option<PassAsked>>(&payload.headers, &payload.bytes)?,
    };
    let seconds = asked.map_or_else(PassAsked::usual, |asked| asked.seconds);
    if !(1..=PassAsked::MOST).contains(&seconds) {
        return Err(Problem::invalid(Fault::at("/seconds", format!("it must be 1 to {}", PassAsked::MOST))));
    }
    let token = inboxes.pass(user, seconds).ok_or_else(Problem::no_passes)?;
    Ok(Json(PassGiven { token, expires_in: seconds }))
}

impl PassAsked {
    const MOST: u64 = 3_600;

    fn usual() -> u64 {
        900
    }
}

/// Sends new entries as they come (server-sent events).
///
/// An event `entry` has the entry as JSON. Its id is where a client continues that comes again with `Last-Event-ID`: nothing is lost
/// and nothing comes twice. An event `reset` says that too much was missed: read the inbox again.
#[utoipa::path(get, path = "/v1/recipients/{id}/inbox/events", operation_id = "follow_inbox", tag = "inbox",
    params(("id" = String, Path, min_length = 1, max_length = 255, description = "The user's id"), EventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that came")), responses(
    (status = 200, description = "Events; comments keep the connection", content_type = "text/event-stream", body = String),
    (status = 400, description = "A parameter is wrong", content_type = "application/problem+json", body = Problem),
    (status = 401, description = "No valid token", content_type = "application/problem+json", body = Problem),
    (status = 403, description = "The token lacks the scope inbox, or is for another inbox", content_type = "application/problem+json", body = Problem),
    (status = 503, description = "Too many listeners, or the server stops or has no database; try again", content_type = "application/problem+json", body = Problem),
))]
async fn events(
    state: extract::State<Arc<AppState>>,
    Extension(inboxes): Extension<Arc<Inboxes>>,
    Path(user): Path<String>,
    headers: HeaderMap,
    asked: Result<Query<EventsQuery>, QueryRejection>,
) -> Result<
    Sse<impl stream::Stream<Item = Result<axum::response::sse::Event, std::convert::Infallible>>>,
    Problem,
> {
    let EventsQuery { after, token } = query(asked)?;
    let caller = inboxes.admit(&state, &headers, token.as_deref(), known(&user)?)?;
    let last =
        headers.get("last-event-id").and_then(|value| value.to_str().ok()).filter(|last| !last.is_empty());
    let wrong = || {
        Problem::invalid(Fault::parameter("after", "use events_after of the inbox, or the id of an event"))
    };
    let after = after.as_deref().filter(|after| !after.is_empty());
    let cursor = match last {
        // A browser ends its EventSource at a refusal.
        Some(last) => Some(last.parse().unwrap_or_else(|()| Cursor::unknown())),
        None => after.map(|after| after.parse().map_err(|()| wrong())).transpose()?,
    };
    let listener = inboxes.listeners.listen(&user);
    let listener = listener.ok_or_else(|| {
        Problem::unavailable("there are as many listeners as there may be, or the server stops")
    })?;
    let (timer, until) = (Arc::clone(&state.timer), state.timer.now() + caller.left);
    let feed = state.ask(Feed::begin(listener, &*state.stores.in_app, &user, cursor, timer, until)).await?;
    let events = stream::unfold(feed, |mut feed| async move {
        let event = feed.next().await?;
        Some((event, feed))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// Refuses an id that no inbox has.
fn known(user: &str) -> Result<&str, Problem> {
    match user.is_empty() || user.len() > NewInAppEntry::MAX_USER_BYTES {
        true => Err(Problem::invalid(Fault::parameter("id", "a user's id has 1 to 255 bytes"))),
        false => Ok(user),
    }
}
