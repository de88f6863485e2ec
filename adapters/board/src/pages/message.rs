use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use claimstream_domain::{
    AuditAction, MessageId, MessageKept, MessageStanding, MessageState, notification::ReceiptFact,
};
use claimstream_ports::notification::DeliveryAttempt;

use super::UuidPath;
use crate::{
    carried::Carried,
    frame::{Frame, answer},
    known_message::{KnownMessage, KnownNotification},
    refusal::Refusal,
    request_context::RequestContext,
    shown::{count, span},
    standing::{self, Sight},
};

/// One message, without what it carries.
pub(crate) async fn show(context: RequestContext, id: UuidPath) -> Response {
    match find(&context, id).await {
        Ok(known) => answer(StatusCode::OK, &MessagePage::of(known, Sight::Hidden, None, context.frame())),
        Err(refusal) => context.refuse(&refusal),
    }
}

/// The same with its payload, its headers and its recipient. The audit log names the user who asks for them.
pub(crate) async fn reveal(context: RequestContext, id: UuidPath) -> Response {
    match find_carried(&context, id).await {
        Ok((known, carried)) => {
            let page = MessagePage::of(known, Sight::Shown, Some(carried), context.frame());
            answer(StatusCode::OK, &page)
        }
        Err(refusal) => context.refuse(&refusal),
    }
}

async fn find(context: &RequestContext, id: UuidPath) -> Result<KnownMessage, Refusal> {
    let Ok(Path(id)) = id else { return Err(Refusal::no_such_page()) };
    let gone = "Nothing is known of a message with this id. Bodies of handled messages are kept until a sweep deletes them.";
    let known = KnownMessage::of(&context.app.stores, MessageId::new(id)).await?;
    known.ok_or_else(|| Refusal::gone(gone))
}

async fn find_carried(context: &RequestContext, id: UuidPath) -> Result<(KnownMessage, Carried), Refusal> {
    let known = find(context, id).await?;
    let read = context.messages()?.read.carried(known.id).await?;
    let gone = "The body of this message is gone. If it is a dead letter, its page shows the payload.";
    let read = read.ok_or_else(|| Refusal::gone(gone))?;
    context.note(AuditAction::ShowPayload, &format!("message {}", known.id)).await?;
    Ok((known, Carried::of(&read.headers, &read.payload)))
}

#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage {
    frame: Frame,
    id: String,
    /// What a message that is in no queue is.
    explained: Option<&'static str>,
    queue: Option<NamedLink>,
    standing: Option<MessageStatus>,
    body: Option<MessageDetails>,
    dead: Option<String>,
    request: Option<NamedLink>,
    record: Option<Record>,
    attempts: Vec<AttemptRow>,
    receipts: Vec<Receipt>,
    carried: Option<Carried>,
    hides_errors: bool,
}

struct NamedLink {
    name: String,
    at: String,
}

struct MessageStatus {
    waits: String,
    holder: Option<String>,
    attempts: String,
    last_error: Option<String>,
}

struct MessageDetails {
    shard: u16,
    ordering_key: Option<String>,
    stored: String,
    first_stored: Option<String>,
    traceparent: Option<String>,
    content_type: String,
    bytes: String,
}

struct Record {
    channel: &'static str,
    status: &'static str,
    recipient: Option<String>,
    reason: Option<String>,
    reference: Option<String>,
}

struct AttemptRow {
    number: String,
    ago: String,
    provider: String,
    took: String,
    answer: &'static str,
    acceptance: &'static str,
    reason: String,
}

struct Receipt {
    kind: &'static str,
    ago: String,
    said_at: String,
}

const HANDLED: &str = "Its queue does not have it any more. Its body is kept until a sweep deletes it. A message that waits behind more than \
     10,000 others of its shard may look like this too.";
const SWEPT: &str =
    "Its queue does not have it any more, and its body was swept. This is known of its delivery.";

impl MessagePage {
    fn of(known: KnownMessage, sight: Sight, carried: Option<Carried>, frame: Frame) -> Self {
        // An error of a message that is no notification is about no person, and is shown as on the page of a dead letter.
        let sight_of_errors = if known.is_notification() { sight } else { Sight::Shown };
        let KnownMessage { id, standing, kept, notification } = known;
        let queue = standing.as_ref().map(|standing| &standing.queue);
        let queue = queue.or(kept.as_ref().map(|kept| &kept.queue)).map(|queue| NamedLink {
            at: frame.about("/queue", &[("queue", queue.as_str())]),
            name: queue.to_string(),
        });
        let is_dead = |standing: &&MessageStanding| matches!(standing.state, MessageState::Dead { .. });
        let KnownNotification { request, record, attempts, receipts } = notification;
        let request = request.map(|request| request.id).or(record.as_ref().map(|record| record.request_id));
        Self {
            id: id.to_string(),
            explained: match (&standing, &kept) {
                (Some(_), _) => None,
                (None, Some(_)) => Some(HANDLED),
                (None, None) => Some(SWEPT),
            },
            queue,
            dead: standing.as_ref().filter(is_dead).map(|_| frame.to(&format!("/dead/letters/{id}"))),
            standing: standing.map(|standing| MessageStatus::of(&standing, sight_of_errors)),
            body: kept.map(MessageDetails::of),
            request: request
                .map(|id| NamedLink { name: id.to_string(), at: frame.to(&format!("/requests/{id}")) }),
            record: record.map(|record| Record {
                channel: record.channel.name(),
                status: record.status.name(),
                reason: record.reason.as_ref().map(|reason| standing::reason(reason, sight)),
                recipient: (sight == Sight::Shown).then_some(record.recipient),
                reference: record.reference,
            }),
            attempts: attempts.iter().map(|attempt| AttemptRow::of(attempt, sight)).collect(),
            receipts: receipts.into_iter().map(Receipt::of).collect(),
            carried,
            hides_errors: sight_of_errors == Sight::Hidden,
            frame,
        }
    }

    fn payload_path(&self) -> String {
        self.frame.to(&format!("/message/{}/payload", self.id))
    }
}

impl MessageStatus {
    fn of(standing: &MessageStanding, sight: Sight) -> Self {
        Self {
            waits: standing::waits(&standing.state),
            holder: standing::holder(&standing.state),
            attempts: count(u64::from(standing.attempts)),
            last_error: standing.last_error.as_ref().map(|reason| standing::reason(reason, sight)),
        }
    }
}

impl MessageDetails {
    fn of(kept: MessageKept) -> Self {
        Self {
            shard: kept.shard.number(),
            ordering_key: kept.ordering_key.map(|key| key.to_string()),
            stored: span(kept.stored),
            first_stored: kept.first_stored.map(span),
            traceparent: kept.traceparent,
            content_type: kept.content_type,
            bytes: count(kept.bytes),
        }
    }
}

impl AttemptRow {
    fn of(attempt: &DeliveryAttempt, sight: Sight) -> Self {
        let reason = attempt.reason.as_ref().map(|reason| standing::reason(reason, sight));
        Self {
            number: count(u64::from(attempt.number)),
            ago: span(attempt.ago),
            provider: attempt.provider.to_string(),
            took: span(attempt.took),
            answer: attempt.answer.class.name(),
            acceptance: attempt.answer.acceptance.name(),
            reason: reason.unwrap_or_default(),
        }
    }
}

impl Receipt {
    fn of(fact: ReceiptFact) -> Self {
        Self { kind: fact.kind.name(), ago: span(fact.ago), said_at: fact.said_at.unwrap_or_default() }
    }
}
