use std::sync::Arc;

use axum::extract::{self, Path, Query, rejection::QueryRejection};
use claimstream_domain::notification::{NotificationRecord, ReceiptFact, ReceiptKind};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{NotificationId, id, limit, query};
use crate::{
    caller::{Caller, Read},
    json::Json,
    problem::Problem,
    state::AppState,
};

/// The routes of a notification's messages.
pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Which page of messages.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct MessagesQuery {
    /// The `next` of the page before.
    #[param(value_type = Option<Uuid>)]
    after: Option<String>,
    /// The most messages, 1 to 500; 50 unless given.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: Option<String>,
}

/// A page of messages.
#[derive(Serialize, ToSchema)]
struct MessagePage {
    messages: Vec<Message>,
    /// Where the next page begins; `null` if there is none.
    #[schema(required)]
    next: Option<Uuid>,
}

/// One recipient on one channel, and what became of it.
#[derive(Serialize, ToSchema)]
struct Message {
    id: Uuid,
    #[schema(example = "email")]
    channel: &'static str,
    /// The recipient's identity within the notification.
    #[schema(example = "user:u-7")]
    recipient: String,
    /// PENDING, DELIVERED, SKIPPED, FAILED or CANCELLED.
    #[schema(example = "DELIVERED")]
    status: &'static str,
    /// Why it was skipped or given up.
    #[schema(required)]
    reason: Option<String>,
    /// The provider's own name for the delivery.
    #[schema(required)]
    reference: Option<String>,
    /// The strongest that the provider has said since: sent, soft_bounced, delivered, opened, unsubscribed, bounced or complained.
    #[schema(required, example = "delivered")]
    receipt: Option<&'static str>,
    /// All that the provider has said since, the oldest first.
    receipts: Vec<ReceiptShown>,
}

/// What a provider has said of a message.
#[derive(Serialize, ToSchema)]
struct ReceiptShown {
    /// What became of it.
    #[schema(example = "delivered")]
    kind: &'static str,
    /// How long ago it was said for the first time, in milliseconds.
    age_ms: u64,
    /// When it was so, in the provider's own words.
    #[schema(required)]
    said_at: Option<String>,
}

/// The messages of a notification, by id.
#[utoipa::path(get, path = "/v1/notifications/{id}/messages", operation_id = "list_messages", tag = "notifications", params(NotificationId, MessagesQuery), responses(
    (status = 200, description = "A page", body = MessagePage),
    (status = 400, description = "A parameter is wrong", content_type = "application/problem+json", body = Problem),
    (status = 401, description = "No valid token", content_type = "application/problem+json", body = Problem),
    (status = 403, description = "The token lacks the scope read", content_type = "application/problem+json", body = Problem),
    (status = 404, description = "There is no such notification", content_type = "application/problem+json", body = Problem),
    (status = 503, description = "Try again", content_type = "application/problem+json", body = Problem),
))]
async fn list(
    _: Caller<Read>,
    state: extract::State<Arc<AppState>>,
    Path(request): Path<String>,
    page: Result<Query<MessagesQuery>, QueryRejection>,
) -> Result<Json<MessagePage>, Problem> {
    let (request, MessagesQuery { after, limit: most }) = (id("id", &request)?, query(page)?);
    let after = after.map(|after| id("after", &after)).transpose()?;
    let most = limit(most.as_deref())?;
    let messages = state.ask(state.stores.reports.messages(request, after, most)).await?;
    if messages.is_empty() {
        // An empty page may be that of nothing.
        let known = state.ask(state.stores.reports.progress(request)).await?;
        known.ok_or_else(Problem::unknown_request)?;
    }
    let next = messages.last().filter(|_| messages.len() as u64 == u64::from(most)).map(|last| last.id);
    let ids: Vec<Uuid> = messages.iter().map(|message| message.id).collect();
    let facts = state.ask(state.stores.receipts.facts(&ids)).await?;
    let messages =
        messages.into_iter().zip(facts).map(|(record, facts)| Message::of(record, facts)).collect();
    Ok(Json(MessagePage { messages, next }))
}

impl Message {
    fn of(record: NotificationRecord, facts: Vec<ReceiptFact>) -> Self {
        Self {
            id: record.id,
            channel: record.channel.name(),
            recipient: record.recipient,
            status: record.status.name(),
            reference: record.reference,
            reason: record.reason.map(|reason| reason.as_str().to_owned()),
            receipt: ReceiptKind::standing(facts.iter().map(|fact| fact.kind)).map(ReceiptKind::name),
            receipts: facts.into_iter().map(ReceiptShown::of).collect(),
        }
    }
}

impl ReceiptShown {
    fn of(fact: ReceiptFact) -> Self {
        let age_ms = u64::try_from(fact.ago.as_millis()).unwrap_or(u64::MAX);
        Self { kind: fact.kind.name(), age_ms, said_at: fact.said_at }
    }
}
