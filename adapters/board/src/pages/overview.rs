use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::QueueStatus;
use serde::Deserialize;

use crate::{
    frame::{Frame, answer},
    observation::NotCounted,
    refusal::Refusal,
    shown::{count, span},
    visit::Visit,
};

/// How every queue stands.
pub(crate) async fn show(visit: Visit, repeat: Result<Query<Repeat>, QueryRejection>) -> Response {
    let counted = match visit.desk.observation.ask().await {
        Ok(counted) => counted,
        Err(NotCounted::Slow) => return visit.refuse(&Refusal::slow()),
        Err(NotCounted::Refused(error)) => return visit.refuse(&Refusal::of_store(&error)),
    };
    let repeats = repeat.is_ok_and(|Query(repeat)| repeat.refresh.is_some());
    let frame = visit.frame();
    let page = OverviewPage {
        queues: counted.queues.iter().map(|status| QueueRow::of(status, &frame)).collect(),
        age: span(counted.age()),
        repeats: repeats.then_some(EVERY),
        frame,
    };
    answer(StatusCode::OK, &page)
}

/// How often a page that refreshes itself does so, in seconds.
const EVERY: u32 = 5;

/// Whether the page refreshes itself, which visitors choose.
#[derive(Deserialize)]
pub(crate) struct Repeat {
    refresh: Option<String>,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    queues: Vec<QueueRow>,
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
    remark: Option<String>,
}

impl QueueRow {
    fn of(status: &QueueStatus, frame: &Frame) -> Self {
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
            remark: remark(status),
        }
    }

    fn dead_shown(&self) -> String {
        count(self.dead)
    }
}

fn remark(status: &QueueStatus) -> Option<String> {
    match (status.stray, status.seems_unread()) {
        (0, false) => None,
        (0, true) => Some("no relay seems to read this queue".into()),
        (stray, _) => {
            Some(format!("{} messages lie in shards that no relay reads; see doctor", count(stray)))
        }
    }
}
