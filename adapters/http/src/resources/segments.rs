use std::sync::Arc;

use axum::extract::{self, Path, Query, rejection::QueryRejection};
use claimstream_domain::{
    Invalid,
    notification::{DirectoryEntry, SegmentPlace},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    limit, query,
    recipients::RecipientBody,
    refusals::{ChangeProblems, ReadProblems},
};
use crate::{
    caller::{Admin, Caller, Read},
    json::Json,
    problem::{Fault, Problem},
    state::AppState,
};

/// The routes of segments.
pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(members)).routes(routes!(put, remove))
}

/// The segment that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path, names("name"))]
#[allow(dead_code, reason = "it is described and never made")]
struct SegmentName(#[param(min_length = 1, max_length = 128)] String);

/// The segment and the user that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path, names("name", "user"))]
#[allow(dead_code, reason = "it is described and never made")]
struct Membership(
    #[param(min_length = 1, max_length = 128)] String,
    #[param(min_length = 1, max_length = 128)] String,
);

/// Which page of members.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct MembersQuery {
    /// The `next` of the page before.
    after: Option<String>,
    /// The most members, 1 to 500; 50 unless given.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: Option<String>,
}

/// A page of the members of a segment.
#[derive(Serialize, ToSchema)]
struct MemberPage {
    members: Vec<RecipientBody>,
    /// Where the next page begins; `null` if there is none.
    #[schema(required)]
    next: Option<String>,
    /// The ids of members whose entries cannot be read.
    unreadable: Vec<String>,
}

/// Whether a user is in a segment, and whether it was.
#[derive(Serialize, ToSchema)]
struct MemberShown {
    is_member: bool,
}

/// Lists the members of a segment.
#[utoipa::path(get, path = "/v1/segments/{name}/members", operation_id = "list_segment_members", tag = "segments", params(SegmentName, MembersQuery), responses(
    (status = 200, description = "A page", body = MemberPage),
    (status = 400, description = "A parameter is wrong", content_type = "application/problem+json", body = Problem),
    (status = 404, description = "The directory does not know this segment", content_type = "application/problem+json", body = Problem),
    (status = 409, description = "This server's directory is kept elsewhere", content_type = "application/problem+json", body = Problem),
    ReadProblems,
))]
async fn members(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    Path(name): Path<String>,
    page: Result<Query<MembersQuery>, QueryRejection>,
) -> Result<Json<MemberPage>, Problem> {
    let MembersQuery { after, limit: most } = query(page)?;
    let (most, from) = (limit(most.as_deref())?, SegmentPlace::from(after));
    let found = state.ask(state.stores.people.directory()?.segments.members(&name, &from, most)).await?;
    let page = found.ok_or_else(Problem::unknown_segment)?;
    let members = page.members.into_iter().map(RecipientBody::of).collect();
    Ok(Json(MemberPage { members, unreadable: page.unreadable, next: page.next }))
}

/// Puts a user into a segment, which is made if it is new.
#[utoipa::path(put, path = "/v1/segments/{name}/members/{user}", operation_id = "add_segment_member", tag = "segments", params(Membership), responses(
    (status = 200, description = "It is a member", body = MemberShown),
    (status = 400, description = "A name is too long", content_type = "application/problem+json", body = Problem),
    (status = 404, description = "The directory does not know this user", content_type = "application/problem+json", body = Problem),
    (status = 409, description = "This server's directory is kept elsewhere", content_type = "application/problem+json", body = Problem),
    ChangeProblems,
))]
async fn put(
    _: Caller<Admin>,
    state: extract::State<Arc<AppState>>,
    Path((name, user)): Path<(String, String)>,
) -> Result<Json<MemberShown>, Problem> {
    check(&name, &user)?;
    let unknown = state.ask(state.stores.people.directory()?.users.put_members(&name, &[user])).await?;
    match unknown.is_empty() {
        true => Ok(Json(MemberShown { is_member: true })),
        false => Err(Problem::unknown_recipient()),
    }
}

/// Takes a user out of a segment, which stays. It may be repeated.
#[utoipa::path(delete, path = "/v1/segments/{name}/members/{user}", operation_id = "remove_segment_member", tag = "segments", params(Membership), responses(
    (status = 200, description = "It is no member", body = MemberShown),
    (status = 400, description = "A name is too long", content_type = "application/problem+json", body = Problem),
    (status = 409, description = "This server's directory is kept elsewhere", content_type = "application/problem+json", body = Problem),
    ChangeProblems,
))]
async fn remove(
    _: Caller<Admin>,
    state: extract::State<Arc<AppState>>,
    Path((name, user)): Path<(String, String)>,
) -> Result<Json<MemberShown>, Problem> {
    check(&name, &user)?;
    state.ask(state.stores.people.directory()?.users.remove_members(&name, &[user])).await?;
    Ok(Json(MemberShown { is_member: false }))
}

fn check(name: &str, user: &str) -> Result<(), Problem> {
    let wrong = |parameter, why: Invalid| Problem::invalid(Fault::parameter(parameter, why.to_string()));
    DirectoryEntry::check_segment(name).map_err(|why| wrong("name", why))?;
    DirectoryEntry::check_id(user).map_err(|why| wrong("user", why))
}
