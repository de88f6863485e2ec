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
    search::{Found, Search},
    shown::span,
    visit::Visit,
};

/// The form that finds things. What is looked for stands in no address, because it may be about people.
pub(crate) async fn show(visit: Visit) -> Response {
    match visit.messages() {
        Ok(_) => answer(StatusCode::OK, &FindPage::of(&FindForm::default(), None, visit.frame())),
        Err(refusal) => visit.refuse(&refusal),
    }
}

/// Leads to the page of what is found, or says why there is none.
pub(crate) async fn find(visit: Visit, form: Result<Form<FindForm>, FormRejection>) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => return visit.refuse(&Refusal::invalid(rejection.body_text())),
    };
    match look(&visit, &form).await {
        Ok(Found::Page(path)) => Redirect::to(&visit.frame().to(&path)).into_response(),
        Ok(found) => {
            let status =
                if matches!(found, Found::Nothing(_)) { StatusCode::NOT_FOUND } else { StatusCode::OK };
            answer(status, &FindPage::of(&form, Some(found), visit.frame()))
        }
        Err(Unanswered::Question(why)) => {
            answer(StatusCode::BAD_REQUEST, &FindPage::of(&form, Some(Found::Nothing(why)), visit.frame()))
        }
        Err(Unanswered::Store(refusal)) => visit.refuse(&refusal),
    }
}

/// Why there is no answer.
enum Unanswered {
    /// The question cannot be answered.
    Question(String),
    /// The store does not.
    Store(Refusal),
}

async fn look(visit: &Visit, form: &FindForm) -> Result<Found, Unanswered> {
    let question = Question::of(form).map_err(Unanswered::Question)?;
    Search::on(&visit.desk.stores).answer(&question).await.map_err(Unanswered::Store)
}

#[derive(Template)]
#[template(path = "find.html")]
struct FindPage {
    frame: Frame,
    choices: Vec<Choice>,
    text: String,
    queue: String,
    why: Option<String>,
    taken: Option<Taken>,
    entries: Vec<Entry>,
}

struct Choice {
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
struct Entry {
    id: String,
    link: String,
    request: String,
    request_link: String,
    ago: String,
}

impl FindPage {
    fn of(form: &FindForm, found: Option<Found>, frame: Frame) -> Self {
        let chosen = form.by();
        let choice = |by: By| Choice { name: by.name(), title: by.title(), is_chosen: chosen == Some(by) };
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
            None | Some(Found::Page(_)) => {}
            Some(Found::Nothing(why)) => page.why = Some(why),
            Some(Found::Key(taken)) => page.taken = Some(Taken::of(taken, &page.frame)),
            Some(Found::Inbox(entries)) => {
                page.entries = entries.iter().map(|entry| Entry::of(entry, &page.frame)).collect();
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

impl Entry {
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
