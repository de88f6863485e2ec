use askama::Template;
use axum::{Form, extract::rejection::FormRejection, http::StatusCode, response::Response};
use claimstream_domain::{AuditAction, LeaseListed, LeaseRelease, LeaseShown, QueueName, Shard};
use serde::Deserialize;

use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    shown::{count, span},
    visit::Visit,
};

/// Shows what the release of a lease would do, and does nothing.
pub(crate) async fn preview(visit: Visit, form: Result<Form<LeaseForm>, FormRejection>) -> Response {
    let Some(holders) = &visit.desk.stores.holders else { return visit.refuse(&Refusal::no_such_page()) };
    let asked = match read(form) {
        Ok(asked) => asked,
        Err(refusal) => return visit.refuse(&refusal),
    };
    match holders.lease(&asked.queue, asked.shard).await {
        Ok(Some(LeaseShown { lease, oldest })) if lease.fence == asked.fence && lease.holder.is_some() => {
            let page = PreviewPage::of(&lease, oldest.map(span), visit.frame());
            answer(StatusCode::OK, &page)
        }
        Ok(_) => visit.refuse(&changed()),
        Err(error) => visit.refuse(&Refusal::of_store(&error)),
    }
}

/// Releases the lease that a preview has shown: the one with its fence, and no other.
pub(crate) async fn release(visit: Visit, form: Result<Form<LeaseForm>, FormRejection>) -> Response {
    let Some(holders) = &visit.desk.stores.holders else { return visit.refuse(&Refusal::no_such_page()) };
    let asked = match read(form) {
        Ok(asked) => asked,
        Err(refusal) => return visit.refuse(&refusal),
    };
    let Asked { queue, shard, fence } = asked;
    let visitor = visit.visitor();
    let subject = format!("lease {queue}/{} under fence {fence}", shard.number());
    if let Err(refusal) = visit.note(AuditAction::ReleaseLease, &subject).await {
        return visit.refuse(&refusal);
    }
    match holders.release_lease(&queue, shard, fence, &visitor.name).await {
        Ok(LeaseRelease::Released { cut_off }) => {
            let frame = visit.frame();
            let page = ReleasedPage {
                back: frame.about("/leases", &[("queue", queue.as_str())]),
                queue: queue.to_string(),
                shard: shard.number(),
                cut_off,
                shown: count(cut_off),
                frame,
            };
            answer(StatusCode::OK, &page)
        }
        Ok(LeaseRelease::Changed) => visit.refuse(&changed()),
        Err(error) => visit.refuse(&Refusal::of_store(&error)),
    }
}

/// Which lease is meant, by the fence that was shown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeaseForm {
    queue: String,
    shard: u16,
    fence: i64,
}

struct Asked {
    queue: QueueName,
    shard: Shard,
    fence: i64,
}

fn read(form: Result<Form<LeaseForm>, FormRejection>) -> Result<Asked, Refusal> {
    let Form(LeaseForm { queue, shard, fence }) =
        form.map_err(|rejection| Refusal::invalid(rejection.body_text()))?;
    let queue = QueueName::new(&queue).map_err(|refused| Refusal::invalid(refused.to_string()))?;
    Ok(Asked { queue, shard: Shard::from_number(shard), fence })
}

fn changed() -> Refusal {
    Refusal::changed(
        "The lease is another one than the page has shown: it has a new fence, or is not held. Nothing was released; look at the leases again.",
    )
}

#[derive(Template)]
#[template(path = "lease_preview.html")]
struct PreviewPage {
    frame: Frame,
    queue: String,
    shard: u16,
    fence: i64,
    holder: String,
    ends: String,
    in_flight: String,
    oldest: Option<String>,
    back: String,
}

impl PreviewPage {
    fn of(lease: &LeaseListed, oldest: Option<String>, frame: Frame) -> Self {
        Self {
            queue: lease.queue.to_string(),
            shard: lease.shard.number(),
            fence: lease.fence,
            holder: lease.holder.clone().unwrap_or_default(),
            ends: lease.ends_in.map_or_else(|| "it has ended".into(), |left| format!("in {}", span(left))),
            in_flight: count(u64::from(lease.in_flight)),
            oldest,
            back: frame.about("/leases", &[("queue", lease.queue.as_str())]),
            frame,
        }
    }
}

#[derive(Template)]
#[template(path = "lease_released.html")]
struct ReleasedPage {
    frame: Frame,
    queue: String,
    shard: u16,
    cut_off: u64,
    shown: String,
    back: String,
}
