use std::time::Duration;

use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::QueueStatus;

use crate::{
    chart::{Chart, Values},
    frame::{Frame, answer},
    history::{History, Sample},
    observation::NotCounted,
    pages::pause::PauseShown,
    pauses::of_queue,
    refusal::Refusal,
    request_context::RequestContext,
    selection::NamedSelection,
    shown::{count, span},
};

/// One queue: how it stands, and how it stood during the last hour.
pub(crate) async fn show(
    context: RequestContext,
    named: Result<Query<NamedSelection>, QueryRejection>,
) -> Response {
    let queue = match named.map_err(|e| e.body_text()).and_then(|Query(named)| named.queue()) {
        Ok(Some(queue)) => queue,
        Ok(None) => return context.refuse(&Refusal::invalid("Choose a queue first.")),
        Err(why) => return context.refuse(&Refusal::invalid(why)),
    };
    let counted = match context.app.observation.ask().await {
        Ok(counted) => counted,
        Err(NotCounted::Slow) => return context.refuse(&Refusal::slow()),
        Err(NotCounted::Refused(error)) => return context.refuse(&Refusal::of_store(&error)),
    };
    let status = counted.queues.iter().find(|status| status.queue == queue);
    let status = status.cloned().unwrap_or_else(|| QueueStatus::empty(queue.clone()));
    let samples = context.app.history.samples(&queue);
    let known = context.app.pauses.all().await;
    let paused = known.as_deref().and_then(|paused| of_queue(paused, &queue));
    let frame = context.frame();
    let page = QueuePage {
        numbers: Numbers::of(&status),
        oldest: oldest(status.oldest),
        is_unread: status.seems_unread() && paused.is_none(),
        is_pause_unknown: known.is_none(),
        may_pause: frame.may_change() && context.app.pauses.store().is_some(),
        pause: paused.map(PauseShown::of),
        age: span(counted.age(context.app.now())),
        since: samples.first().map(|sample| span(sample.age)),
        messages: chart(&samples, &[("due", |it| it.due), ("leased", |it| it.leased), ("waiting", waiting)]),
        seconds: chart(&samples, &[("oldest due", |it| it.oldest.map_or(0, |oldest| oldest.as_secs()))]),
        dead: chart(&samples, &[("dead", |it| it.dead)]),
        moments: at_intervals(&samples).map(Moment::of).collect(),
        dead_link: frame.about("/dead", &[("queue", queue.as_str())]),
        leases_link: context
            .app
            .stores
            .holders
            .is_some()
            .then(|| frame.about("/leases", &[("queue", queue.as_str())])),
        queue: queue.to_string(),
        frame,
    };
    answer(StatusCode::OK, &page)
}

#[derive(Template)]
#[template(path = "queue.html")]
struct QueuePage {
    frame: Frame,
    queue: String,
    numbers: Numbers,
    oldest: String,
    is_unread: bool,
    is_pause_unknown: bool,
    may_pause: bool,
    pause: Option<PauseShown>,
    age: String,
    since: Option<String>,
    messages: Chart,
    seconds: Chart,
    dead: Chart,
    moments: Vec<Moment>,
    dead_link: String,
    leases_link: Option<String>,
}

/// The messages of a queue by state.
struct Numbers {
    due: String,
    leased: String,
    retrying: String,
    scheduled: String,
    dead: String,
    stray: Option<String>,
}

/// A line of the table that says in numbers what the charts draw.
struct Moment {
    age: String,
    due: String,
    leased: String,
    waiting: String,
    oldest: String,
    dead: String,
}

impl Numbers {
    fn of(status: &QueueStatus) -> Self {
        Self {
            due: count(status.due),
            leased: count(status.leased),
            retrying: count(status.retrying),
            scheduled: count(status.scheduled()),
            dead: count(status.dead),
            stray: (status.stray > 0).then(|| count(status.stray)),
        }
    }
}

impl Moment {
    /// The table has a line for each of these.
    const EVERY: Duration = Duration::from_secs(5 * 60);

    fn of(Sample { age, status, .. }: &Sample) -> Self {
        Self {
            age: span(*age),
            due: count(status.due),
            leased: count(status.leased),
            waiting: count(waiting(status)),
            oldest: oldest(status.oldest),
            dead: count(status.dead),
        }
    }
}

fn waiting(status: &QueueStatus) -> u64 {
    status.retrying + status.scheduled()
}

fn oldest(oldest: Option<Duration>) -> String {
    oldest.map_or_else(|| "–".into(), span)
}

/// Moments further apart than this are not joined. Where counting takes long, the queues are counted seldom, which is no outage.
fn gap(samples: &[Sample]) -> Duration {
    const SHORTEST: Duration = Duration::from_secs(120);
    let longest = samples.iter().map(|sample| sample.lasts).max().unwrap_or_default();
    SHORTEST.max(longest + 2 * History::EVERY)
}

type Number = fn(&QueueStatus) -> u64;

fn chart(samples: &[Sample], lines: &[(&'static str, Number)]) -> Chart {
    let values = |&(name, number): &(&'static str, Number)| Values {
        name,
        points: samples.iter().map(|sample| (sample.age, number(&sample.status))).collect(),
    };
    let values: Vec<Values> = lines.iter().map(values).collect();
    Chart::of(&values, History::REACH, gap(samples))
}

/// The newest sample of each interval, the newest first.
fn at_intervals(samples: &[Sample]) -> impl Iterator<Item = &Sample> {
    let interval = |sample: &Sample| sample.age.as_secs() / Moment::EVERY.as_secs();
    samples.chunk_by(move |a, b| interval(a) == interval(b)).filter_map(<[Sample]>::last).rev()
}

#[cfg(test)]
mod tests {
    use claimstream_domain::QueueName;

    use super::*;

    /// How many pieces a line has whose counts were made so many seconds apart and shown for so long.
    fn pieces(apart: u64, lasts: u64) -> usize {
        let sample = |age: u64| Sample {
            age: Duration::from_secs(age * apart),
            lasts: Duration::from_secs(lasts),
            status: QueueStatus::empty(QueueName::new("orders").unwrap()),
        };
        let samples: Vec<_> = (0..5).rev().map(sample).collect();
        chart(&samples, &[("due", |status| status.due)]).lines[0].pieces.len()
    }

    #[test]
    fn a_queue_that_is_counted_seldom_has_a_whole_line_and_an_outage_is_a_gap() {
        assert_eq!(pieces(15, 2), 1);
        assert_eq!(pieces(255, 240), 1, "each count was shown until the next one");
        assert_eq!([pieces(130, 2), pieces(300, 240)], [5, 5]);
    }
}
