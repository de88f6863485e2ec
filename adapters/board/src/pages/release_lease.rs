use askama::Template;
use axum::{Form, extract::rejection::FormRejection, http::StatusCode, response::Response};
use claimstream_domain::{AuditAction, LeaseListed, LeaseRelease, LeaseShown, QueueName, Shard};
use serde::Deserialize;

use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    shown::{count, span},
};

/// Shows what the release of a lease would do, and does nothing.
pub(crate) async fn preview(
    context: RequestContext,
    form: Result<Form<LeaseForm>, FormRejection>,
) -> Response {
    let Some(holders) = &context.app.stores.holders else { return context.refuse(&Refusal::no_such_page()) };
    let asked = match read(form) {
        Ok(asked) => asked,
        Err(refusal) => return context.refuse(&refusal),
    };
    match holders.lease(&asked.queue, asked.shard).await {
        Ok(Some(LeaseShown { lease, oldest })) if lease.fence == asked.fence && lease.holder.is_some() => {
            let page = LeaseReleasePreview::of(&lease, oldest.map(span), context.frame());
            answer(StatusCode::OK, &page)
        }
        Ok(_) => context.refuse(&changed()),
        Err(error) => context.refuse(&Refusal::of_store(&error)),
    }
}

/// Releases the lease that a preview has shown: the one with its fence, and no other.
pub(crate) async fn release(
    context: RequestContext,
    form: Result<Form<LeaseForm>, FormRejection>,
) -> Response {
    let Some(holders) = &context.app.stores.holders else { return context.refuse(&Refusal::no_such_page()) };
    let asked = match read(form) {
        Ok(asked) => asked,
        Err(refusal) => return context.refuse(&refusal),
    };
    let NamedLease { queue, shard, fence } = asked;
    let user = context.user();
    let subject = format!("lease {queue}/{} under fence {fence}", shard.number());
    if let Err(refusal) = context.note(AuditAction::ReleaseLease, &subject).await {
        return context.refuse(&refusal);
    }
    match holders.release_lease(&queue, shard, fence, &user.name).await {
        Ok(LeaseRelease::Released { cut_off }) => {
            let frame = context.frame();
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
        Ok(LeaseRelease::Changed) => context.refuse(&changed()),
        Err(error) => context.refuse(&Refusal::of_store(&error)),
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

struct NamedLease {
    queue: QueueName,
    shard: Shard,
    fence: i64,
}

fn read(form: Result<Form<LeaseForm>, FormRejection>) -> Result<NamedLease, Refusal> {
    let Form(LeaseForm { queue, shard, fence }) =
        form.map_err(|rejection| Refusal::invalid(rejection.body_text()))?;
    let queue = QueueName::new(&queue).map_err(|refused| Refusal::invalid(refused.to_string()))?;
    Ok(NamedLease { queue, shard: Shard::from_number(shard), fence })
}

fn changed() -> Refusal {
    Refusal::changed(
        "The lease is another one than the page has shown: it has a new fence, or is not held. Nothing was released; look at the leases again.",
    )
}

#[derive(Template)]
#[template(path = "lease_preview.html")]
struct LeaseReleasePreview {
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

impl LeaseReleasePreview {
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
