use std::sync::Arc;

use axum::{
    extract::{self, Path, Query, rejection::QueryRejection},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use claimstream_domain::notification::{Progress, RequestStatus, RequesterKind, Submitted};
use claimstream_ports::notification::{Cancelled, CancelledMessages, RequestFilter, RequestListed};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{NotificationId, id, limit, query, receipts_counted::ReceiptsCounted, template_call};
use crate::{
    body::NotificationBody,
    caller::{Caller, Read, Send},
    idempotency_key::IdempotencyKey,
    json::{self, Json},
    payload::Payload,
    problem::{Fault, Problem},
    shapes,
    state::AppState,
};

/// The routes of notifications.
pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(send, list)).routes(routes!(show)).routes(routes!(cancel))
}

/// A notification that was taken in.
#[derive(Serialize, ToSchema)]
struct AcceptedNotification {
    id: Uuid,
    /// PENDING: where it stood when it was taken in.
    #[schema(example = "PENDING")]
    status: &'static str,
}

/// How far a notification has come, counted from its messages.
#[derive(Serialize, ToSchema)]
struct Notification {
    id: Uuid,
    /// PENDING, PROCESSING, DISPATCHED, PARTIALLY_FAILED, FAILED, UNDELIVERABLE or CANCELLED.
    #[schema(example = "DISPATCHED")]
    status: &'static str,
    /// Why it failed, or which part of it could not be carried out.
    #[schema(required)]
    reason: Option<String>,
    /// All combinations of recipient and channel that are known so far.
    total: u64,
    /// Those on their way.
    pending: u64,
    /// Those that a provider took.
    delivered: u64,
    /// Those that were left out, for a recorded reason.
    skipped: u64,
    /// Those that were given up.
    failed: u64,
    /// Those that were taken back.
    cancelled: u64,
    /// What providers said of those that they took.
    receipts: ReceiptsCounted,
}

/// A notification that was called off, and what became of its messages.
#[derive(Serialize, ToSchema)]
struct Cancellation {
    id: Uuid,
    /// CANCELLED.
    #[schema(example = "CANCELLED")]
    status: &'static str,
    /// So many messages were taken back by this call.
    taken_back: u64,
    /// So many had been delivered before.
    delivered: u64,
    /// At most so many of those taken back were in a provider's hands, and are delivered if it takes them.
    in_hands: u64,
}

/// Which notifications.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only those that stand here.
    #[param(value_type = Option<shapes::RecordedStatus>, inline)]
    status: Option<String>,
    /// Only those of the requester with this id.
    requester: Option<String>,
    /// The `next` of the page before.
    #[param(value_type = Option<Uuid>)]
    after: Option<String>,
    /// The most notifications, 1 to 500; 50 unless given.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: Option<String>,
}

/// A page of notifications, the newest first.
#[derive(Serialize, ToSchema)]
struct NotificationPage {
    notifications: Vec<NotificationListed>,
    /// Where the next page begins; `null` if there is none. With a filter a page may be short and have a next one all the same.
    #[schema(required)]
    next: Option<Uuid>,
}

/// A notification in a list.
#[derive(Serialize, ToSchema)]
struct NotificationListed {
    id: Uuid,
    /// What the notification itself says; its messages may have failed since.
    #[schema(example = "DISPATCHED")]
    status: &'static str,
    requester: RequesterShown,
    /// How long ago it was taken in, in milliseconds.
    age_ms: u64,
}

/// The requester of a notification.
#[derive(Serialize, ToSchema)]
struct RequesterShown {
    /// user, admin or service.
    #[serde(rename = "type")]
    #[schema(value_type = shapes::RequesterKind)]
    kind: RequesterKind,
    id: String,
}

/// Hands a notification in.
///
/// An answer 201 or 200 says that it is committed. The same call with the same `Idempotency-Key` and the same body hands nothing in
/// a second time: it is answered 200 with `Idempotent-Replayed: true`, or 409 while the first call is under way.
#[utoipa::path(post, path = "/v1/notifications", operation_id = "send_notification", tag = "notifications",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, description = "1 to 255 characters of the client's choice; a fresh notification each time without one")),
    request_body = NotificationBody,
    responses(
        (status = 201, description = "Taken in", body = AcceptedNotification, headers(("Location" = String, description = "Its path"))),
        (status = 200, description = "Taken in before, by a call with this key", body = AcceptedNotification, headers(
            ("Location" = String, description = "Its path"), ("Idempotent-Replayed" = bool, description = "true"))),
        (status = 400, description = "The request is not valid; `errors` says where", content_type = "application/problem+json", body = Problem),
        (status = 401, description = "No valid token", content_type = "application/problem+json", body = Problem),
        (status = 403, description = "The token lacks the scope send", content_type = "application/problem+json", body = Problem),
        (status = 408, description = "The body arrives too slowly", content_type = "application/problem+json", body = Problem),
        (status = 409, description = "A call with this key is under way; try again after Retry-After", content_type = "application/problem+json", body = Problem),
        (status = 413, description = "The body is too long", content_type = "application/problem+json", body = Problem),
        (status = 415, description = "The body is not JSON", content_type = "application/problem+json", body = Problem),
        (status = 422, description = "The key came with another body before", content_type = "application/problem+json", body = Problem),
        (status = 503, description = "Busy, stopping or without its database; try again after Retry-After, with the same key", content_type = "application/problem+json", body = Problem),
    ))]
async fn send(
    caller: Caller<Send>,
    state: extract::State<Arc<AppState>>,
    payload: Payload,
) -> Result<Response, Problem> {
    let key = IdempotencyKey::of(&payload.headers)?;
    let may_be_known = key.is_some();
    let id = key.map_or_else(Uuid::now_v7, |key| key.id(&caller.name));
    let body: NotificationBody = json::read(&payload.headers, &payload.bytes)?;
    let mut request = body.into_request(id).map_err(Problem::invalid)?;
    crate::trace::adopt(&mut request.headers, &payload.headers);
    template_call::check(&state, &request, may_be_known).await?;
    let taken = state.in_time(state.intake.take(request, payload.bytes.len())).await?;
    let taken = taken.map_err(|refused| Problem::of_refusal(&refused))?;
    tracing::debug!(%id, caller = caller.name, ?taken, "notification handed in");
    let status = match taken {
        Submitted::New => StatusCode::CREATED,
        Submitted::Replayed => StatusCode::OK,
        Submitted::Conflict => return Err(Problem::key_reused()),
    };
    let standing = AcceptedNotification { id, status: RequestStatus::Pending.name() };
    let mut response = (status, Json(standing)).into_response();
    let headers = response.headers_mut();
    headers.extend(
        HeaderValue::try_from(format!("/v1/notifications/{id}")).map(|path| (header::LOCATION, path)),
    );
    if taken == Submitted::Replayed {
        headers.insert(HeaderName::from_static("idempotent-replayed"), HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Lists notifications, the newest first.
#[utoipa::path(get, path = "/v1/notifications", operation_id = "list_notifications", tag = "notifications", params(ListQuery), responses(
    (status = 200, description = "A page", body = NotificationPage),
    (status = 400, description = "A parameter is wrong", content_type = "application/problem+json", body = Problem),
    (status = 401, description = "No valid token", content_type = "application/problem+json", body = Problem),
    (status = 403, description = "The token lacks the scope read", content_type = "application/problem+json", body = Problem),
    (status = 503, description = "Try again", content_type = "application/problem+json", body = Problem),
))]
async fn list(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    page: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<NotificationPage>, Problem> {
    let ListQuery { status, requester, after, limit: most } = query(page)?;
    let status = status.map(|name| recorded(&name)).transpose()?;
    let after = after.map(|after| id("after", &after)).transpose()?;
    let (filter, most) = (RequestFilter { status, requester }, limit(most.as_deref())?);
    let page = state.ask(state.stores.list.list(&filter, after, most)).await?;
    let notifications = page.requests.into_iter().map(NotificationListed::of).collect();
    Ok(Json(NotificationPage { notifications, next: page.next }))
}

/// A status that notifications themselves have; the others come of counting their messages, and no list has them.
fn recorded(name: &str) -> Result<RequestStatus, Problem> {
    let status = name.parse().ok().filter(|status: &RequestStatus| status.is_recorded());
    status.ok_or_else(|| {
        let names: Vec<_> =
            RequestStatus::ALL.into_iter().filter(|one| one.is_recorded()).map(RequestStatus::name).collect();
        Problem::invalid(Fault::parameter("status", format!("it must be one of {}", names.join(", "))))
    })
}

/// Shows how far a notification has come.
#[utoipa::path(get, path = "/v1/notifications/{id}", operation_id = "show_notification", tag = "notifications", params(NotificationId), responses(
    (status = 200, description = "How far it has come", body = Notification),
    (status = 400, description = "The id is not a UUID", content_type = "application/problem+json", body = Problem),
    (status = 401, description = "No valid token", content_type = "application/problem+json", body = Problem),
    (status = 403, description = "The token lacks the scope read", content_type = "application/problem+json", body = Problem),
    (status = 404, description = "There is no such notification", content_type = "application/problem+json", body = Problem),
    (status = 503, description = "Try again", content_type = "application/problem+json", body = Problem),
))]
async fn show(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    Path(request): Path<String>,
) -> Result<Json<Notification>, Problem> {
    let id = id("id", &request)?;
    let progress = state.ask(state.stores.reports.progress(id)).await?;
    progress.map(|progress| Json(Notification::of(id, progress))).ok_or_else(Problem::unknown_request)
}

/// Calls a notification off: takes back what has not been delivered.
///
/// It may be repeated.
#[utoipa::path(post, path = "/v1/notifications/{id}/cancel", operation_id = "cancel_notification", tag = "notifications", params(NotificationId), responses(
    (status = 200, description = "It is called off", body = Cancellation),
    (status = 400, description = "The id is not a UUID", content_type = "application/problem+json", body = Problem),
    (status = 401, description = "No valid token", content_type = "application/problem+json", body = Problem),
    (status = 403, description = "The token lacks the scope send", content_type = "application/problem+json", body = Problem),
    (status = 404, description = "There is no such notification", content_type = "application/problem+json", body = Problem),
    (status = 409, description = "Nothing is left that could be taken back", content_type = "application/problem+json", body = Problem),
    (status = 503, description = "Try again", content_type = "application/problem+json", body = Problem),
))]
async fn cancel(
    caller: Caller<Send>,
    state: extract::State<Arc<AppState>>,
    Path(request): Path<String>,
) -> Result<Json<Cancellation>, Problem> {
    let id = id("id", &request)?;
    let cancelled = state.ask(state.stores.requests.cancel(id)).await?;
    let was_in_time = matches!(cancelled, Cancelled::Yes(_));
    tracing::debug!(%id, caller = caller.name, was_in_time, "notification called off");
    match cancelled {
        Cancelled::Yes(CancelledMessages { messages, delivered, in_hands }) => Ok(Json(Cancellation {
            id,
            status: RequestStatus::Cancelled.name(),
            taken_back: messages,
            delivered,
            in_hands,
        })),
        Cancelled::TooLate(status) => Err(Problem::too_late(status.name())),
        Cancelled::Unknown => Err(Problem::unknown_request()),
    }
}

impl Notification {
    fn of(id: Uuid, progress: Progress) -> Self {
        Self {
            id,
            status: progress.status().name(),
            total: progress.total(),
            pending: progress.pending,
            delivered: progress.delivered,
            skipped: progress.skipped,
            failed: progress.failed,
            cancelled: progress.cancelled,
            receipts: ReceiptsCounted::of(&progress.receipts),
            reason: progress.reason,
        }
    }
}

impl NotificationListed {
    fn of(RequestListed { id, status, requester, age }: RequestListed) -> Self {
        Self {
            id,
            status: status.name(),
            requester: RequesterShown { kind: requester.kind, id: requester.id },
            age_ms: u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
        }
    }
}
