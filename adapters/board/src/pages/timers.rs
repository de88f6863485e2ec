use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::{
    MessageId, MessageStanding, MessageState,
    timer_event::{TimerListed, TimerPlace},
};
use claimstream_ports::StoreError;
use serde::Deserialize;

use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    run_message::RunMessage,
    run_stores::RunStores,
};

/// How many timers a page shows.
const MOST: u32 = 100;

/// Where a page begins.
#[derive(Deserialize)]
pub(crate) struct TimersCursor {
    after: Option<String>,
}

/// Timers with the occurrence that comes next.
pub(crate) async fn show(
    context: RequestContext,
    asked: Result<Query<TimersCursor>, QueryRejection>,
) -> Response {
    let Some(stores) = &context.app.stores.runs else { return context.refuse(&Refusal::no_such_page()) };
    let after =
        match asked.map(|Query(place)| place.after.map(|after| after.parse::<TimerPlace>()).transpose()) {
            Ok(Ok(after)) => after,
            _ => {
                let why = "This is no place in the list; start at the first page.";
                return context.refuse(&Refusal::invalid(why));
            }
        };
    let is_first = after.is_none();
    let (timers, next) = match look(stores, after).await {
        Ok(found) => found,
        Err(error) => return context.refuse(&Refusal::of_store(&error)),
    };
    let frame = context.frame();
    let page = TimersPage {
        timers: timers.iter().map(|(timer, found)| TimerRow::of(timer, found.as_ref(), &frame)).collect(),
        first: (!is_first).then(|| frame.to("/timers")),
        next: next.map(|next| frame.about("/timers", &[("after", &next.to_string())])),
        events: frame.to("/timers/events"),
        frame,
    };
    answer(StatusCode::OK, &page)
}

type ArmedTimer = (TimerListed, Option<MessageStanding>);

async fn look(
    stores: &RunStores,
    after: Option<TimerPlace>,
) -> Result<(Vec<ArmedTimer>, Option<TimerPlace>), StoreError> {
    let page = stores.timers.timers(after, MOST).await?;
    let ids: Vec<MessageId> = page.timers.iter().map(|timer| timer.message).collect();
    let found = stores.messages.find(&ids).await?;
    Ok((page.timers.into_iter().zip(found).collect(), page.next))
}

struct TimerRow {
    scheme: String,
    queue: String,
    occurrence: String,
    link: String,
    message: String,
    /// Whether an operator should look.
    is_bad: bool,
}

impl TimerRow {
    fn of(timer: &TimerListed, found: Option<&MessageStanding>, frame: &Frame) -> Self {
        let TimerListed { queue, scheme, occurrence, .. } = timer;
        let occurrence = occurrence.to_string();
        let state = found.map(|found| &found.state);
        let message = match state {
            None => "none is found; nothing moves the timer on until its program is restarted, unless it waits behind more than 10,000 others".to_owned(),
            Some(MessageState::Dead { .. }) => "dead letter; revive it to move the timer on".to_owned(),
            Some(state) => format!("{}, {}", state.name(), RunMessage::when(state)),
        };
        Self {
            link: frame.about("/timers/event", &[("scheme", scheme.as_str()), ("occurrence", &occurrence)]),
            scheme: scheme.to_string(),
            queue: queue.to_string(),
            is_bad: matches!(state, None | Some(MessageState::Dead { .. })),
            occurrence,
            message,
        }
    }
}

#[derive(Template)]
#[template(path = "timers.html")]
struct TimersPage {
    frame: Frame,
    timers: Vec<TimerRow>,
    first: Option<String>,
    next: Option<String>,
    events: String,
}
