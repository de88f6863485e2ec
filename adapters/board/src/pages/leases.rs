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
    shown::{count, span},
    visit::Visit,
};

/// How many leases a page shows, unless it is about one queue.
const PAGE: u32 = 50;

/// The leases of shards: all of them, a page at a time, or those of one queue.
pub(crate) async fn show(visit: Visit, place: Result<Query<Place>, QueryRejection>) -> Response {
    let Some(holders) = &visit.desk.stores.holders else { return visit.refuse(&Refusal::no_such_page()) };
    let wanted = match place.map_err(|rejection| rejection.body_text()).and_then(|Query(place)| place.read())
    {
        Ok(wanted) => wanted,
        Err(why) => return visit.refuse(&Refusal::invalid(why)),
    };
    let found = match &wanted {
        Wanted::Queue(queue) => holders.leases_of(queue).await,
        Wanted::Behind(after) => holders.leases(after.clone(), PAGE).await,
    };
    match found {
        Ok(found) => answer(StatusCode::OK, &LeasesPage::of(&wanted, &found, visit.frame())),
        Err(error) => visit.refuse(&Refusal::of_store(&error)),
    }
}

/// Which leases are shown.
enum Wanted {
    Queue(QueueName),
    Behind(Option<(QueueName, Shard)>),
}

/// The queue that is chosen, or where the list is read on.
#[derive(Deserialize)]
pub(crate) struct Place {
    queue: Option<String>,
    after: Option<String>,
}

impl Place {
    fn read(self) -> Result<Wanted, String> {
        if let Some(queue) = self.queue {
            return QueueName::new(&queue).map(Wanted::Queue).map_err(|refused| refused.to_string());
        }
        let Some(after) = self.after else { return Ok(Wanted::Behind(None)) };
        let place = after.rsplit_once('/').and_then(|(queue, shard)| {
            Some((QueueName::new(queue).ok()?, Shard::from_number(shard.parse().ok()?)))
        });
        let place = place.ok_or("This is no place in the list; start at the first page.")?;
        Ok(Wanted::Behind(Some(place)))
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
    fn of(wanted: &Wanted, found: &[LeaseListed], frame: Frame) -> Self {
        let last = found.last().filter(|_| found.len() >= PAGE as usize);
        let place = |last: &LeaseListed| format!("{}/{}", last.queue, last.shard.number());
        let next = last.map(|last| frame.about("/leases", &[("after", &place(last))]));
        let (queue, first, next) = match wanted {
            Wanted::Queue(queue) => (Some(queue.to_string()), Some(frame.to("/leases")), None),
            Wanted::Behind(after) => (None, after.is_some().then(|| frame.to("/leases")), next),
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
