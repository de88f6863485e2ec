use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::{PausedQueue, QueueStatus};
use serde::Deserialize;

use crate::{
    frame::{Frame, answer},
    observation::NotCounted,
    pages::pause::PauseShown,
    pauses::of_queue,
    refusal::Refusal,
    request_context::RequestContext,
    shown::{count, span},
};

/// How every queue stands.
pub(crate) async fn show(context: RequestContext, repeat: Result<Query<Repeat>, QueryRejection>) -> Response {
    let counted = match context.app.observation.ask().await {
        Ok(counted) => counted,
        Err(NotCounted::Slow) => return context.refuse(&Refusal::slow()),
        Err(NotCounted::Refused(error)) => return context.refuse(&Refusal::of_store(&error)),
    };
    let repeats = repeat.is_ok_and(|Query(repeat)| repeat.refresh.is_some());
    let known = context.app.pauses.all().await;
    let paused = known.as_deref().unwrap_or_default();
    let frame = context.frame();
    let page = OverviewPage {
        queues: with_paused(&counted.queues, paused)
            .iter()
            .map(|status| QueueRow::of(status, of_queue(paused, &status.queue), &frame))
            .collect(),
        is_pause_unknown: known.is_none(),
        age: span(counted.age(context.app.now())),
        repeats: repeats.then_some(EVERY),
        frame,
    };
    answer(StatusCode::OK, &page)
}

/// How often a page that refreshes itself does so, in seconds.
const EVERY: u32 = 5;

/// Whether the page refreshes itself, which users choose.
#[derive(Deserialize)]
pub(crate) struct Repeat {
    refresh: Option<String>,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    queues: Vec<QueueRow>,
    is_pause_unknown: bool,
    age: String,
    repeats: Option<u32>,
}

struct QueueRow {
    name: String,
    link: String,
    due: String,
    leased: String,
    waiting: String,
    dead: u64,
    dead_link: String,
    oldest: String,
    pause: Option<PauseShown>,
    remark: Option<String>,
}

impl QueueRow {
    fn of(status: &QueueStatus, paused: Option<&PausedQueue>, frame: &Frame) -> Self {
        let QueueStatus { queue, depth, due, leased, oldest, dead, stray, .. } = status;
        let waiting = depth.saturating_sub(due + leased + stray);
        Self {
            name: queue.to_string(),
            link: frame.about("/queue", &[("queue", queue.as_str())]),
            due: count(*due),
            leased: count(*leased),
            waiting: count(waiting),
            dead: *dead,
            dead_link: frame.about("/dead", &[("queue", queue.as_str())]),
            oldest: oldest.map_or_else(|| "–".into(), span),
            pause: paused.map(PauseShown::of),
            remark: remark(status, paused.is_some()),
        }
    }

    fn dead_shown(&self) -> String {
        count(self.dead)
    }
}

/// The queues by name, and among them those that are paused and hold nothing.
fn with_paused(queues: &[QueueStatus], paused: &[PausedQueue]) -> Vec<QueueStatus> {
    let is_counted = |paused: &&PausedQueue| !queues.iter().any(|status| status.queue == paused.queue);
    let empty = paused.iter().filter(is_counted).map(|paused| QueueStatus::empty(paused.queue.clone()));
    let mut all: Vec<QueueStatus> = queues.iter().cloned().chain(empty).collect();
    all.sort_by(|one, other| one.queue.cmp(&other.queue));
    all
}

/// No relay reads a queue that is paused, which is no fault.
fn remark(status: &QueueStatus, is_paused: bool) -> Option<String> {
    match (status.stray, status.seems_unread() && !is_paused) {
        (0, false) => None,
        (0, true) => Some("no relay seems to read this queue".into()),
        (stray, _) => {
            Some(format!("{} messages lie in shards that no relay reads; see doctor", count(stray)))
        }
    }
}
