use askama::Template;
use axum::{Form, extract::rejection::FormRejection, http::StatusCode, response::Response};
use claimstream_domain::{AuditAction, AuditEntry, MessageId, saga::SagaContinued};

use super::run::NamedSaga;
use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
};

type SagaFormResult = Result<Form<NamedSaga>, FormRejection>;

/// Says what continuing a saga does, and does nothing.
pub(crate) async fn preview(context: RequestContext, asked: SagaFormResult) -> Response {
    match asked {
        Ok(Form(saga)) => answer(StatusCode::OK, &ContinuePage::of(&saga, None, context.frame())),
        Err(rejection) => context.refuse(&Refusal::invalid(rejection.body_text())),
    }
}

/// Continues a saga, and says what became of it. It is safe to be called twice: the saga's rows decide what is done.
pub(crate) async fn confirm(context: RequestContext, asked: SagaFormResult) -> Response {
    let Some(stores) = &context.app.stores.runs else { return context.refuse(&Refusal::no_such_page()) };
    let saga = match asked {
        Ok(Form(saga)) => saga,
        Err(rejection) => return context.refuse(&Refusal::invalid(rejection.body_text())),
    };
    let scope = saga.scope();
    let subject = format!("saga {}/{}", AuditEntry::named(&scope), saga.id());
    if let Err(refusal) = context.note(AuditAction::Continue, &subject).await {
        return context.refuse(&refusal);
    }
    match stores.continuing.continue_saga(&scope, saga.id()).await {
        Ok(answered) => {
            let answered = Answered::of(answered, &context.frame());
            answer(StatusCode::OK, &ContinuePage::of(&saga, Some(answered), context.frame()))
        }
        Err(error) => context.refuse(&Refusal::of_store(&error)),
    }
}

/// What became of it.
struct Answered {
    sentence: String,
    /// The page of a dead letter, where there is something to be done.
    dead: Option<String>,
}

impl Answered {
    fn of(answered: SagaContinued, frame: &Frame) -> Self {
        let letter = |id: MessageId| frame.to(&format!("/dead/letters/{id}"));
        let (sentence, dead) = match answered {
            SagaContinued::Asked(id) => (
                format!(
                    "The message {id} is due now. A relay of the saga's queue continues the saga with it."
                ),
                None,
            ),
            SagaContinued::UnderWay(id) => {
                (format!("Nothing was done: the message {id} is due already, or a relay has it."), None)
            }
            SagaContinued::Waiting(_) => {
                let why =
                    "Nothing was done: three messages that continue the saga wait for their next attempt.";
                (why.to_owned(), None)
            }
            SagaContinued::Dead(id) => {
                let why = "Nothing was done: a message of the saga is a dead letter. To continue the saga, revive that.";
                (why.to_owned(), Some(letter(id)))
            }
            SagaContinued::UsedUp => {
                let why = "Nothing was done: the messages that continue it were handled or purged, and their ids are remembered until a sweep deletes their bodies.";
                (why.to_owned(), None)
            }
            SagaContinued::Over(state) => (format!("Nothing was done: the saga has ended as {state}."), None),
            SagaContinued::Forgotten => {
                ("Nothing was done: the saga ended so long ago that its rows are deleted.".to_owned(), None)
            }
            SagaContinued::Unknown => {
                ("Nothing was done: there is no such saga in this database.".to_owned(), None)
            }
        };
        Self { sentence, dead }
    }
}

#[derive(Template)]
#[template(path = "saga_continue.html")]
struct ContinuePage {
    frame: Frame,
    scope: String,
    id: String,
    answered: Option<Answered>,
    back: String,
}

impl ContinuePage {
    fn of(saga: &NamedSaga, answered: Option<Answered>, frame: Frame) -> Self {
        Self { scope: saga.scope(), id: saga.id().to_string(), answered, back: saga.link(&frame), frame }
    }
}
