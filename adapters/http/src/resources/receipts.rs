use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Extension,
    extract::{self, Path},
    http::{HeaderMap, header},
};
use claimstream_domain::notification::{ReceiptTaken, provider::ProviderName};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    json::Json,
    payload::Payload,
    problem::{Fault, Problem},
    receipts::{Mapped, Receiving, Subscription},
    state::AppState,
};

/// The route of receipts; providers prove in their own way whose they are.
pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(take))
}

/// The most receipts of one transaction.
const AT_ONCE: usize = 2_000;

/// What became of the receipts of one call.
#[derive(Serialize, ToSchema, Default)]
struct ReceiptsTaken {
    /// Kept with their messages.
    new: u64,
    /// Kept before.
    known: u64,
    /// Kept until their deliveries are noted, for an hour at most.
    waiting: u64,
    /// Of messages that are not kept any more, or never were.
    unknown: u64,
    /// Of kinds that the settings do not name.
    ignored: u64,
    /// Without anything that leads to a message, and one for a body without what `receipts_body` or `receipts_events` leads to.
    faulty: u64,
}

/// Takes receipts of a provider.
///
/// An answer 200 says that all of them are committed. The same call again changes nothing, and receipts may come in any order.
#[utoipa::path(post, path = "/v1/receipts/{provider}", operation_id = "take_receipts", tag = "receipts", security(()),
    params(("provider" = String, Path, min_length = 1, max_length = 64, description = "The name of the provider in the settings")),
    request_body(content = serde_json::Value, description = "In the provider's own form"),
    responses(
        (status = 200, description = "Committed", body = ReceiptsTaken),
        (status = 400, description = "The body cannot be read", content_type = "application/problem+json", body = Problem),
        (status = 401, description = "The signature or the token does not fit, or is too old", content_type = "application/problem+json", body = Problem),
        (status = 404, description = "No receipts are set up for this provider", content_type = "application/problem+json", body = Problem),
        (status = 408, description = "The body arrives too slowly", content_type = "application/problem+json", body = Problem),
        (status = 413, description = "The body is too long", content_type = "application/problem+json", body = Problem),
        (status = 503, description = "Try again", content_type = "application/problem+json", body = Problem),
    ))]
async fn take(
    state: extract::State<Arc<AppState>>,
    Extension(receiving): Extension<Arc<Receiving>>,
    Path(provider): Path<String>,
    request: extract::Request,
) -> Result<Json<ReceiptsTaken>, Problem> {
    let provider = ProviderName::new(&provider).map_err(|_| Problem::no_receipts())?;
    let source = receiving.providers.of(&provider).ok_or_else(Problem::no_receipts)?;
    let payload = Payload::read(request, &state, state.limits.receipts).await.inspect_err(|problem| {
        tracing::warn!(%provider, ?problem, "receipts are refused");
    })?;
    if let Err(why) = source.check.check(&payload.headers, &payload.bytes, now()) {
        tracing::warn!(%provider, why, "receipts are refused");
        return Err(Problem::bad_signature(why));
    }
    if let Some(subscription) = Subscription::of(&payload.headers, &payload.bytes) {
        subscription.warn(&provider);
        return Ok(Json(ReceiptsTaken::default()));
    }
    let mapped = source.mapping.read(&provider, is_form(&payload.headers), &payload.bytes);
    let Mapped { receipts, ignored, faulty } = mapped.map_err(|why| {
        tracing::warn!(%provider, why, "receipts are refused");
        Problem::invalid(Fault::at("", why))
    })?;
    if ignored > 0 {
        tracing::info!(%provider, ignored, "receipts are of kinds that receipts_kinds does not name");
    }
    if faulty > 0 {
        let check = "receipts_body, receipts_events, receipts_reference and receipts_message";
        tracing::warn!(%provider, faulty, check, "receipts name no message, or are not where the settings say");
    }
    let mut answer = ReceiptsTaken { ignored, faulty, ..ReceiptsTaken::default() };
    for some in receipts.chunks(AT_ONCE) {
        for taken in state.ask(state.stores.receipts.take(some)).await? {
            *match taken {
                ReceiptTaken::New => &mut answer.new,
                ReceiptTaken::Known => &mut answer.known,
                ReceiptTaken::Waiting => &mut answer.waiting,
                ReceiptTaken::Unknown => &mut answer.unknown,
            } += 1;
        }
    }
    if answer.waiting > 0 {
        receiving.waiting.more();
    }
    tracing::debug!(%provider, new = answer.new, known = answer.known, waiting = answer.waiting, "receipts are kept");
    Ok(Json(answer))
}

fn is_form(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.trim_start().to_ascii_lowercase().starts_with("application/x-www-form-urlencoded")
}

/// Seconds since 1970, to be compared with the moment that a provider has signed.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
