use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::{ErrorClass, QueueName};

use crate::{
    error_groups::ErrorGroup,
    frame::{Frame, answer},
    observation::NotCounted,
    refusal::Refusal,
    request_context::RequestContext,
    selection::NamedSelection,
    shown::{count, span},
};

/// How many classes are shown.
const MOST: usize = 100;

/// The dead letters of a queue by error; without a queue, the queues that have any.
pub(crate) async fn show(
    context: RequestContext,
    named: Result<Query<NamedSelection>, QueryRejection>,
) -> Response {
    let queue = named.map_err(|e| e.body_text()).and_then(|Query(named)| named.queue());
    match queue {
        Ok(Some(queue)) => groups(&context, queue).await,
        Ok(None) => queues(&context).await,
        Err(why) => context.refuse(&Refusal::invalid(why)),
    }
}

async fn queues(context: &RequestContext) -> Response {
    let counted = match context.app.observation.ask().await {
        Ok(counted) => counted,
        Err(NotCounted::Slow) => return context.refuse(&Refusal::slow()),
        Err(NotCounted::Refused(error)) => return context.refuse(&Refusal::of_store(&error)),
    };
    let frame = context.frame();
    let dead = counted.queues.iter().filter(|status| status.dead > 0);
    let row = |status: &claimstream_domain::QueueStatus| QueueRow {
        name: status.queue.to_string(),
        link: frame.about("/dead", &[("queue", status.queue.as_str())]),
        dead: count(status.dead),
    };
    let queues = dead.map(row).collect();
    answer(StatusCode::OK, &QueuesPage { frame, queues, age: span(counted.age(context.app.now())) })
}

async fn groups(context: &RequestContext, queue: QueueName) -> Response {
    let grouped = match context.app.error_groups.ask(&queue, &*context.app.stores.dead_letters).await {
        Ok(grouped) => grouped,
        Err(error) => return context.refuse(&Refusal::of_store(&error)),
    };
    let (frame, age) = (context.frame(), grouped.age(context.app.now()));
    let row = |(class, group): &(ErrorClass, ErrorGroup)| GroupRow {
        class: class.to_string(),
        link: frame.about("/dead/letters", &[("queue", queue.as_str()), ("class", class.as_str())]),
        count: count(group.count),
        newest: span(group.newest + age),
        oldest: span(group.oldest + age),
    };
    let page = GroupsPage {
        groups: grouped.groups.iter().take(MOST).map(row).collect(),
        left_out: grouped.groups.len().saturating_sub(MOST),
        looked_at: count(grouped.looked_at),
        is_whole: grouped.is_whole,
        age: span(age),
        all: frame.about("/dead/letters", &[("queue", queue.as_str())]),
        queue: queue.to_string(),
        frame,
    };
    answer(StatusCode::OK, &page)
}

struct QueueRow {
    name: String,
    link: String,
    dead: String,
}

struct GroupRow {
    class: String,
    link: String,
    count: String,
    newest: String,
    oldest: String,
}

#[derive(Template)]
#[template(path = "dead_queues.html")]
struct QueuesPage {
    frame: Frame,
    queues: Vec<QueueRow>,
    age: String,
}

#[derive(Template)]
#[template(path = "dead_groups.html")]
struct GroupsPage {
    frame: Frame,
    queue: String,
    groups: Vec<GroupRow>,
    left_out: usize,
    looked_at: String,
    is_whole: bool,
    age: String,
    all: String,
}
