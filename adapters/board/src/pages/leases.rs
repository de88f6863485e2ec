use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::{LeaseListed, QueueName, Shard};
use serde::Deserialize;

use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    shown::{count, span},
};

/// How many leases a page shows, unless it is about one queue.
const PAGE: u32 = 50;

/// The leases of shards: all of them, a page at a time, or those of one queue.
pub(crate) async fn show(
    context: RequestContext,
    cursor: Result<Query<LeaseQuery>, QueryRejection>,
) -> Response {
    let Some(holders) = &context.app.stores.holders else { return context.refuse(&Refusal::no_such_page()) };
    let wanted =
        match cursor.map_err(|rejection| rejection.body_text()).and_then(|Query(cursor)| cursor.read()) {
            Ok(wanted) => wanted,
            Err(why) => return context.refuse(&Refusal::invalid(why)),
        };
    let found = match &wanted {
        LeaseSelection::Queue(queue) => holders.leases_of(queue).await,
        LeaseSelection::Behind(after) => holders.leases(after.clone(), PAGE).await,
    };
    match found {
        Ok(found) => answer(StatusCode::OK, &LeasesPage::of(&wanted, &found, context.frame())),
        Err(error) => context.refuse(&Refusal::of_store(&error)),
    }
}

/// Which leases are shown.
enum LeaseSelection {
    Queue(QueueName),
    Behind(Option<(QueueName, Shard)>),
}

/// The queue that is chosen, or where the list is read on.
#[derive(Deserialize)]
pub(crate) struct LeaseQuery {
    queue: Option<String>,
    after: Option<String>,
}

impl LeaseQuery {
    fn read(self) -> Result<LeaseSelection, String> {
        if let Some(queue) = self.queue {
            return QueueName::new(&queue).map(LeaseSelection::Queue).map_err(|refused| refused.to_string());
        }
        let Some(after) = self.after else { return Ok(LeaseSelection::Behind(None)) };
        let cursor = after.rsplit_once('/').and_then(|(queue, shard)| {
            Some((QueueName::new(queue).ok()?, Shard::from_number(shard.parse().ok()?)))
        });
        let cursor = cursor.ok_or("This is no place in the list; start at the first page.")?;
        Ok(LeaseSelection::Behind(Some(cursor)))
    }
}

#[derive(Template)]
#[template(path = "leases.html")]
struct LeasesPage {
    frame: Frame,
    queue: Option<String>,
    leases: Vec<LeaseRow>,
    first: Option<String>,
    next: Option<String>,
}

impl LeasesPage {
    fn of(wanted: &LeaseSelection, found: &[LeaseListed], frame: Frame) -> Self {
        let last = found.last().filter(|_| found.len() >= PAGE as usize);
        let cursor = |last: &LeaseListed| format!("{}/{}", last.queue, last.shard.number());
        let next = last.map(|last| frame.about("/leases", &[("after", &cursor(last))]));
        let (queue, first, next) = match wanted {
            LeaseSelection::Queue(queue) => (Some(queue.to_string()), Some(frame.to("/leases")), None),
            LeaseSelection::Behind(after) => (None, after.is_some().then(|| frame.to("/leases")), next),
        };
        let leases = found.iter().map(|lease| LeaseRow::of(lease, &frame)).collect();
        Self { queue, leases, first, next, frame }
    }
}

struct LeaseRow {
    queue: String,
    link: String,
    shard: u16,
    holder: Option<String>,
    fence: i64,
    ends: String,
    in_flight: String,
}

impl LeaseRow {
    fn of(lease: &LeaseListed, frame: &Frame) -> Self {
        let LeaseListed { queue, shard, holder, fence, ends_in, in_flight } = lease;
        Self {
            link: frame.about("/leases", &[("queue", queue.as_str())]),
            queue: queue.to_string(),
            shard: shard.number(),
            ends: match (ends_in, holder) {
                (Some(left), _) => format!("in {}", span(*left)),
                (None, Some(_)) => "it has ended".into(),
                (None, None) => "–".into(),
            },
            holder: holder.clone(),
            fence: *fence,
            in_flight: count(u64::from(*in_flight)),
        }
    }
}
