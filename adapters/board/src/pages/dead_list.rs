use std::time::Duration;

use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::{DeadLetterListed, DeadLetterPlace};

use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    selection::{Bounds, NamedSelection, Selection},
    shown::{count, span},
    standing::{self, Sight},
};

/// How many letters a page shows, and how many it looks at for them.
const BOUNDS: Bounds = Bounds { wanted: 50, looked_at: 5_000, time: Duration::from_millis(80), page: 50 };

/// The dead letters of a queue, or of one class of error, a page at a time.
pub(crate) async fn show(
    context: RequestContext,
    named: Result<Query<NamedSelection>, QueryRejection>,
) -> Response {
    let named = match named {
        Ok(Query(named)) => named,
        Err(rejection) => return context.refuse(&Refusal::invalid(rejection.body_text())),
    };
    let selection = match named.read() {
        Ok(selection) => selection,
        Err(why) => return context.refuse(&Refusal::invalid(why)),
    };
    let after = named.after.as_deref().map(str::parse::<DeadLetterPlace>);
    if matches!(after, Some(Err(_))) {
        return context.refuse(&Refusal::invalid("This is no place in the list; start at the first page."));
    }
    let part = match selection
        .part(
            &*context.app.stores.dead_letters,
            after.clone().and_then(Result::ok),
            BOUNDS,
            &*context.app.timer,
        )
        .await
    {
        Ok(part) => part,
        Err(error) => return context.refuse(&Refusal::of_store(&error)),
    };
    let frame = context.frame();
    let next = part.next.map(|next| link(&frame, &selection, Some(&next.to_string())));
    let sight = standing::sight_of_reasons(&selection.queue, Sight::Hidden);
    let page = DeadListPage {
        letters: part.chosen.iter().map(|letter| LetterRow::of(letter, sight, &frame)).collect(),
        what: selection.described(),
        class: selection.class.as_ref().map(ToString::to_string),
        queue: selection.queue.to_string(),
        groups: frame.about("/dead", &[("queue", selection.queue.as_str())]),
        first: after.is_some().then(|| link(&frame, &selection, None)),
        looked_at: count(part.looked_at),
        next,
        frame,
    };
    answer(StatusCode::OK, &page)
}

fn link(frame: &Frame, selection: &Selection, after: Option<&str>) -> String {
    let values = selection.values();
    let values = values.iter().map(|(name, value)| (*name, value.as_str()));
    frame.about("/dead/letters", &values.chain(after.map(|after| ("after", after))).collect::<Vec<_>>())
}

struct LetterRow {
    id: String,
    link: String,
    attempts: String,
    dead_for: String,
    reason: String,
}

impl LetterRow {
    fn of(letter: &DeadLetterListed, sight: Sight, frame: &Frame) -> Self {
        let id = letter.id.to_string();
        Self {
            link: frame.to(&format!("/dead/letters/{id}")),
            id,
            attempts: count(u64::from(letter.attempts)),
            dead_for: span(letter.dead_for),
            reason: standing::reason(&letter.reason, sight),
        }
    }
}

#[derive(Template)]
#[template(path = "dead_list.html")]
struct DeadListPage {
    frame: Frame,
    what: String,
    queue: String,
    class: Option<String>,
    letters: Vec<LetterRow>,
    groups: String,
    first: Option<String>,
    looked_at: String,
    next: Option<String>,
}
