use std::sync::Arc;

use axum::{
    extract::{self, Path},
    http::HeaderName,
};
use claimstream_domain::{
    Fingerprint,
    notification::consent::{PreferenceChange, Preferences},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    recipients::{UserId, check_id, key_of},
    refusals::{ChangeBodyProblems, ReadProblems},
};
use crate::{
    caller::{Admin, Caller, Read},
    entity_tag::{entity_tag, if_match},
    json::{self, Json},
    payload::Payload,
    problem::{Fault, Problem},
    shapes,
    state::AppState,
};

/// The routes of what a user wants.
pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(preferences, set_preferences))
}

/// Shows what a user wants; nothing is set for one that never said.
#[utoipa::path(get, path = "/v1/recipients/{id}/preferences", operation_id = "show_preferences", tag = "recipients", params(UserId), responses(
    (status = 200, description = "What it wants", body = shapes::Preferences, headers(("ETag" = String, description = "Names these preferences"))),
    (status = 400, description = "The id is too long", content_type = "application/problem+json", body = Problem),
    ReadProblems,
))]
async fn preferences(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    Path(id): Path<String>,
) -> Result<([(HeaderName, String); 1], Json<Preferences>), Problem> {
    check_id(&id)?;
    let keys = [key_of(&id)];
    let read = state.ask(state.stores.preferences.consents(&keys, &[])).await?;
    let kept = read.preferences.into_iter().next().unwrap_or_default();
    Ok((entity_tag(&Fingerprint::of_json(&kept)), Json(kept)))
}

/// Sets what a user wants, in place of all that it wanted.
///
/// With the `ETag` of `GET` as `If-Match`, only if nothing has changed since, as by a click on a link to unsubscribe.
#[utoipa::path(put, path = "/v1/recipients/{id}/preferences", tag = "recipients",
    params(UserId, ("If-Match" = Option<String>, Header, description = "The `ETag` of the preferences that may be replaced, or several; any without it, or with `*`")),
    request_body = shapes::Preferences, responses(
    (status = 200, description = "What it wants now", body = shapes::Preferences),
    (status = 412, description = "The preferences have changed meanwhile", content_type = "application/problem+json", body = Problem),
    ChangeBodyProblems,
))]
async fn set_preferences(
    caller: Caller<Admin>,
    state: extract::State<Arc<AppState>>,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<Json<Preferences>, Problem> {
    check_id(&id)?;
    let wanted: Preferences = json::read(&payload.headers, &payload.bytes)?;
    wanted.check().map_err(|e| Problem::invalid(Fault::at("/rules", e.to_string())))?;
    let all = [match if_match(&payload.headers)? {
        None => PreferenceChange::All(wanted),
        Some(before) => PreferenceChange::AllIf { before, wanted },
    }];
    let now = state.ask(state.stores.preferences.change(&key_of(&id), &all)).await?;
    tracing::debug!(caller = caller.name, "preferences set");
    Ok(Json(now))
}
