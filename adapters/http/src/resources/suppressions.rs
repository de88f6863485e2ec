use std::sync::Arc;

use axum::extract::{self, Query, rejection::QueryRejection};
use claimstream_domain::{
    Fingerprint,
    notification::{
        Channel,
        consent::{Address, SuppressedAddress, Suppression},
    },
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    limit, query,
    refusals::{ChangeBodyProblems, ReadProblems},
};
use crate::{
    caller::{Admin, Caller, Read},
    json::{self, Json},
    payload::Payload,
    problem::{Fault, Problem},
    shapes,
    state::AppState,
};

/// The routes of addresses that must not be written to. An address stands in bodies only, because proxies log paths.
pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(list, suppress)).routes(routes!(lift))
}

/// Which page of suppressed addresses.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SuppressionsQuery {
    /// The `next` of the page before.
    #[param(pattern = "^[0-9a-fA-F]{64}$")]
    after: Option<String>,
    /// The most addresses, 1 to 500; 50 unless given.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: Option<String>,
}

/// A page of suppressed addresses.
#[derive(Serialize, ToSchema)]
struct SuppressionPage {
    suppressions: Vec<Suppressed>,
    /// Where the next page begins; `null` if there is none.
    #[schema(required)]
    next: Option<String>,
}

/// An address that must not be written to.
#[derive(Serialize, ToSchema)]
struct Suppressed {
    #[schema(value_type = shapes::Channel)]
    channel: Channel,
    /// The address; `(erased)` if its owner was erased.
    address: String,
    #[schema(value_type = shapes::Suppression)]
    reason: Suppression,
    /// Further details, such as a provider's own words.
    #[schema(required)]
    note: Option<String>,
    /// For how long it has been suppressed, in milliseconds.
    age_ms: u64,
}

/// An address to be suppressed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SuppressBody {
    #[schema(value_type = shapes::Channel)]
    channel: Channel,
    #[schema(min_length = 1, max_length = 2048)]
    address: String,
    #[schema(value_type = shapes::Suppression)]
    reason: Suppression,
    /// A note for people, at most 1,024 bytes.
    #[serde(default)]
    #[schema(max_length = 1024)]
    note: Option<String>,
}

/// An address that may be written to again.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LiftBody {
    #[schema(value_type = shapes::Channel)]
    channel: Channel,
    #[schema(min_length = 1, max_length = 2048)]
    address: String,
}

/// What became of a call.
#[derive(Serialize, ToSchema)]
struct Lifted {
    /// Whether the address was suppressed.
    was_suppressed: bool,
}

/// Lists suppressed addresses, in an order that does not change.
#[utoipa::path(get, path = "/v1/suppressions", operation_id = "list_suppressions", tag = "suppressions", params(SuppressionsQuery), responses(
    (status = 200, description = "A page", body = SuppressionPage),
    (status = 400, description = "A parameter is wrong", content_type = "application/problem+json", body = Problem),
    ReadProblems,
))]
async fn list(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    page: Result<Query<SuppressionsQuery>, QueryRejection>,
) -> Result<Json<SuppressionPage>, Problem> {
    let SuppressionsQuery { after, limit: most } = query(page)?;
    let most = limit(most.as_deref())?;
    let after = after.as_deref().map(place).transpose()?;
    let found = state.ask(state.stores.people.suppressions.suppressed(after, most)).await?;
    let is_full = found.len() as u64 == u64::from(most);
    let next = found.last().filter(|_| is_full).map(|last| hex::encode(last.key.as_bytes()));
    Ok(Json(SuppressionPage { suppressions: found.into_iter().map(Suppressed::of).collect(), next }))
}

/// Suppresses an address. Of two reasons the stronger one is kept.
#[utoipa::path(post, path = "/v1/suppressions", operation_id = "suppress_address", tag = "suppressions", request_body = SuppressBody, responses(
    (status = 200, description = "It is suppressed", body = Lifted),
    ChangeBodyProblems,
))]
async fn suppress(
    caller: Caller<Admin>,
    state: extract::State<Arc<AppState>>,
    payload: Payload,
) -> Result<Json<Lifted>, Problem> {
    const LONGEST_NOTE: usize = 1_024;
    let SuppressBody { channel, address, reason, note } = json::read(&payload.headers, &payload.bytes)?;
    if note.as_ref().is_some_and(|note| note.len() > LONGEST_NOTE) {
        return Err(Problem::invalid(Fault::at("/note", format!("it has at most {LONGEST_NOTE} bytes"))));
    }
    let address = address_of(channel, &address)?;
    state.ask(state.stores.people.suppressions.suppress(&address, reason, note)).await?;
    tracing::info!(%channel, %reason, caller = caller.name, "address suppressed");
    Ok(Json(Lifted { was_suppressed: true }))
}

/// Lets an address be written to again.
#[utoipa::path(post, path = "/v1/suppressions/lift", operation_id = "lift_suppression", tag = "suppressions", request_body = LiftBody, responses(
    (status = 200, description = "It may be written to", body = Lifted),
    ChangeBodyProblems,
))]
async fn lift(
    caller: Caller<Admin>,
    state: extract::State<Arc<AppState>>,
    payload: Payload,
) -> Result<Json<Lifted>, Problem> {
    let LiftBody { channel, address } = json::read(&payload.headers, &payload.bytes)?;
    let suppressions = &state.stores.people.suppressions;
    let mut was_suppressed = state.ask(suppressions.lift(&address_of(channel, &address)?)).await?;
    if let Some(former) = Address::former(channel, &address) {
        was_suppressed |= state.ask(suppressions.lift(&former)).await?;
    }
    tracing::info!(%channel, was_suppressed, caller = caller.name, "address lifted");
    Ok(Json(Lifted { was_suppressed }))
}

fn address_of(channel: Channel, text: &str) -> Result<Address, Problem> {
    const LONGEST: usize = claimstream_domain::notification::DirectoryEntry::MAX_ADDRESS_BYTES;
    let address = Address::new(channel, text);
    let fits = !address.as_str().is_empty() && text.len() <= LONGEST;
    let wrong = || Problem::invalid(Fault::at("/address", format!("it must have 1 to {LONGEST} bytes")));
    if fits { Ok(address) } else { Err(wrong()) }
}

fn place(text: &str) -> Result<Fingerprint, Problem> {
    let key = hex::decode(text).ok().and_then(|bytes| Fingerprint::from_slice(&bytes).ok());
    let wrong = || Problem::invalid(Fault::parameter("after", "it must be the `next` of a page"));
    key.ok_or_else(wrong)
}

impl Suppressed {
    fn of(SuppressedAddress { key: _, address, reason, note, age }: SuppressedAddress) -> Self {
        let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        Self { channel: address.channel(), address: address.as_str().to_owned(), reason, note, age_ms }
    }
}
