use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use claimstream_domain::{AuditAction, DeadLetter, DeadLetterFilter, ErrorClass, MessageId};

use super::UuidPath;
use crate::{
    carried::Carried,
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    shown::{count, span},
    standing::{self, Sight},
};

/// One dead letter, without what it carries.
pub(crate) async fn show(context: RequestContext, id: UuidPath) -> Response {
    match find(&context, id).await {
        Ok(letter) => answer(StatusCode::OK, &LetterPage::of(&letter, None, &context)),
        Err(refusal) => context.refuse(&refusal),
    }
}

/// The same with its payload and its headers. The audit log names the user who asks for them.
pub(crate) async fn reveal(context: RequestContext, id: UuidPath) -> Response {
    let letter = match find(&context, id).await {
        Ok(letter) => letter,
        Err(refusal) => return context.refuse(&refusal),
    };
    let subject = format!("dead letter {} of queue {}", letter.message.id, letter.message.queue);
    if let Err(refusal) = context.note(AuditAction::ShowPayload, &subject).await {
        return context.refuse(&refusal);
    }
    let carried = Carried::of(&letter.message.headers, &letter.message.payload);
    answer(StatusCode::OK, &LetterPage::of(&letter, Some(carried), &context))
}

async fn find(context: &RequestContext, id: UuidPath) -> Result<DeadLetter, Refusal> {
    let Ok(Path(id)) = id else { return Err(Refusal::no_such_page()) };
    let filter = DeadLetterFilter { ids: vec![MessageId::new(id)], ..DeadLetterFilter::default() };
    let found =
        context.app.stores.dead_letters.list(&filter, 1).await.map_err(|error| Refusal::of_store(&error))?;
    let gone = "There is no dead letter with this id: it was revived or purged, or it never died.";
    found.into_iter().next().ok_or_else(|| Refusal::gone(gone))
}

#[derive(Template)]
#[template(path = "dead_letter.html")]
struct LetterPage {
    frame: Frame,
    id: String,
    queue: String,
    queue_link: String,
    class_link: String,
    message_link: Option<String>,
    shard: u16,
    ordering_key: Option<String>,
    attempts: String,
    dead_for: String,
    reason: String,
    content_type: String,
    bytes: String,
    carried: Option<Carried>,
}

impl LetterPage {
    fn of(letter: &DeadLetter, carried: Option<Carried>, context: &RequestContext) -> Self {
        let DeadLetter { message, attempts, reason, dead_for } = letter;
        let (frame, has_messages) = (context.frame(), context.app.stores.messages().is_some());
        let (queue, class) = (message.queue.as_str(), ErrorClass::of(reason));
        let asked = if carried.is_some() { Sight::Shown } else { Sight::Hidden };
        let sight = standing::sight_of_reasons(&message.queue, asked);
        Self {
            id: message.id.to_string(),
            queue_link: frame.about("/dead", &[("queue", queue)]),
            class_link: frame.about("/dead/letters", &[("queue", queue), ("class", class.as_str())]),
            message_link: has_messages.then(|| frame.to(&format!("/message/{}", message.id))),
            queue: queue.to_owned(),
            shard: message.shard.number(),
            ordering_key: message.ordering_key.as_ref().map(|key| key.as_str().to_owned()),
            attempts: count(u64::from(*attempts)),
            dead_for: span(*dead_for),
            reason: standing::reason(reason, sight),
            content_type: message.payload.content_type().to_owned(),
            bytes: count(message.payload.bytes().len() as u64),
            carried,
            frame,
        }
    }

    fn letter_path(&self) -> String {
        self.frame.to(&format!("/dead/letters/{}/payload", self.id))
    }
}
