use askama::Template;
use axum::{
    Form,
    extract::rejection::FormRejection,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};

use claimstream_domain::{DedupKeyTaken, notification::InAppEntry};

use crate::{
    frame::{Frame, answer},
    question::{By, FindForm, Question},
    refusal::Refusal,
    request_context::RequestContext,
    search::{Search, SearchResult},
    shown::span,
};

/// The form that finds things. What is looked for stands in no address, because it may be about people.
pub(crate) async fn show(context: RequestContext) -> Response {
    match context.messages() {
        Ok(_) => answer(StatusCode::OK, &FindPage::of(&FindForm::default(), None, context.frame())),
        Err(refusal) => context.refuse(&refusal),
    }
}

/// Leads to the page of what is found, or says why there is none.
pub(crate) async fn find(context: RequestContext, form: Result<Form<FindForm>, FormRejection>) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => return context.refuse(&Refusal::invalid(rejection.body_text())),
    };
    match look(&context, &form).await {
        Ok(SearchResult::Page(path)) => Redirect::to(&context.frame().to(&path)).into_response(),
        Ok(found) => {
            let status = if matches!(found, SearchResult::Nothing(_)) {
                StatusCode::NOT_FOUND
            } else {
                StatusCode::OK
            };
            answer(status, &FindPage::of(&form, Some(found), context.frame()))
        }
        Err(Unanswered::Question(why)) => answer(
            StatusCode::BAD_REQUEST,
            &FindPage::of(&form, Some(SearchResult::Nothing(why)), context.frame()),
        ),
        Err(Unanswered::Store(refusal)) => context.refuse(&refusal),
    }
}

/// Why there is no answer.
enum Unanswered {
    /// The question cannot be answered.
    Question(String),
    /// The store does not.
    Store(Refusal),
}

async fn look(context: &RequestContext, form: &FindForm) -> Result<SearchResult, Unanswered> {
    let question = Question::of(form).map_err(Unanswered::Question)?;
    Search::on(&context.app.stores).answer(&question).await.map_err(Unanswered::Store)
}

#[derive(Template)]
#[template(path = "find.html")]
struct FindPage {
    frame: Frame,
    choices: Vec<SearchChoice>,
    text: String,
    queue: String,
    why: Option<String>,
    taken: Option<Taken>,
    entries: Vec<InboxEntry>,
}

struct SearchChoice {
    name: &'static str,
    title: &'static str,
    is_chosen: bool,
}

/// The message that has taken a dedup key.
struct Taken {
    id: String,
    link: String,
    ago: String,
}

/// A message that was delivered into an inbox in the application.
struct InboxEntry {
    id: String,
    link: String,
    request: String,
    request_link: String,
    ago: String,
}

impl FindPage {
    fn of(form: &FindForm, found: Option<SearchResult>, frame: Frame) -> Self {
        let chosen = form.by();
        let choice =
            |by: By| SearchChoice { name: by.name(), title: by.title(), is_chosen: chosen == Some(by) };
        let mut page = Self {
            choices: By::ALL.into_iter().map(choice).collect(),
            text: form.text().to_owned(),
            queue: form.queue().to_owned(),
            why: None,
            taken: None,
            entries: Vec::new(),
            frame,
        };
        match found {
            None | Some(SearchResult::Page(_)) => {}
            Some(SearchResult::Nothing(why)) => page.why = Some(why),
            Some(SearchResult::Key(taken)) => page.taken = Some(Taken::of(taken, &page.frame)),
            Some(SearchResult::Inbox(entries)) => {
                page.entries = entries.iter().map(|entry| InboxEntry::of(entry, &page.frame)).collect();
            }
        }
        page
    }
}

impl Taken {
    fn of(taken: DedupKeyTaken, frame: &Frame) -> Self {
        let id = taken.by.to_string();
        Self { link: frame.to(&format!("/message/{id}")), id, ago: span(taken.ago) }
    }
}

impl InboxEntry {
    fn of(entry: &InAppEntry, frame: &Frame) -> Self {
        let (id, request) = (entry.entry.id, entry.entry.request_id);
        Self {
            id: id.to_string(),
            link: frame.to(&format!("/message/{id}")),
            request: request.to_string(),
            request_link: frame.to(&format!("/requests/{request}")),
            ago: span(entry.age),
        }
    }
}
