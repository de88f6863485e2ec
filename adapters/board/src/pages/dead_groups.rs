use std::{collections::BTreeMap, time::Duration};

use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::{DeadLetterListed, ErrorClass, QueueName};

use crate::{
    frame::{Frame, answer},
    observation::NotCounted,
    refusal::Refusal,
    selection::{Bounds, NamedSelection, Selection},
    shown::{count, span},
    visit::Visit,
};

/// How many newest letters are grouped, and how long that may take.
const BOUNDS: Bounds =
    Bounds { wanted: usize::MAX, looked_at: 10_000, time: Duration::from_millis(300), page: 500 };

/// How many classes are shown.
const MOST: usize = 100;

/// The dead letters of a queue by error; without a queue, the queues that have any.
pub(crate) async fn show(visit: Visit, named: Result<Query<NamedSelection>, QueryRejection>) -> Response {
    let queue = named.map_err(|e| e.body_text()).and_then(|Query(named)| named.queue());
    match queue {
        Ok(Some(queue)) => groups(&visit, queue).await,
        Ok(None) => queues(&visit).await,
        Err(why) => visit.refuse(&Refusal::invalid(why)),
    }
}

async fn queues(visit: &Visit) -> Response {
    let counted = match visit.desk.observation.ask().await {
        Ok(counted) => counted,
        Err(NotCounted::Slow) => return visit.refuse(&Refusal::slow()),
        Err(NotCounted::Refused(error)) => return visit.refuse(&Refusal::of_store(&error)),
    };
    let frame = visit.frame();
    let dead = counted.queues.iter().filter(|status| status.dead > 0);
    let row = |status: &claimstream_domain::QueueStatus| QueueRow {
        name: status.queue.to_string(),
        link: frame.about("/dead", &[("queue", status.queue.as_str())]),
        dead: count(status.dead),
    };
    let queues = dead.map(row).collect();
    answer(StatusCode::OK, &QueuesPage { frame, queues, age: span(counted.age()) })
}

async fn groups(visit: &Visit, queue: QueueName) -> Response {
    let all = Selection { queue: queue.clone(), class: None, id: None };
    let part = match all.part(&*visit.desk.stores.dead_letters, None, BOUNDS).await {
        Ok(part) => part,
        Err(error) => return visit.refuse(&Refusal::of_store(&error)),
    };
    let frame = visit.frame();
    let by_class = Groups::of(&part.chosen);
    let left_out = by_class.len().saturating_sub(MOST);
    let row = |(class, group): &(ErrorClass, Group)| GroupRow {
        class: class.to_string(),
        link: frame.about("/dead/letters", &[("queue", queue.as_str()), ("class", class.as_str())]),
        count: count(group.count),
        newest: span(group.newest),
        oldest: span(group.oldest),
    };
    let page = GroupsPage {
        groups: by_class.iter().take(MOST).map(row).collect(),
        left_out,
        looked_at: count(part.looked_at),
        is_whole: part.next.is_none(),
        all: frame.about("/dead/letters", &[("queue", queue.as_str())]),
        queue: queue.to_string(),
        frame,
    };
    answer(StatusCode::OK, &page)
}

/// Letters of one class.
struct Group {
    count: u64,
    newest: Duration,
    oldest: Duration,
}

struct Groups;

impl Groups {
    /// The classes of these letters, the most frequent first.
    fn of(letters: &[DeadLetterListed]) -> Vec<(ErrorClass, Group)> {
        let mut groups: BTreeMap<ErrorClass, Group> = BTreeMap::new();
        for DeadLetterListed { reason, dead_for, .. } in letters {
            let first = Group { count: 0, newest: *dead_for, oldest: *dead_for };
            let group = groups.entry(ErrorClass::of(reason)).or_insert(first);
            group.count += 1;
            group.newest = group.newest.min(*dead_for);
            group.oldest = group.oldest.max(*dead_for);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
        groups
    }
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
    all: String,
}
