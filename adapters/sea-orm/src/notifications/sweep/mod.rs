//! What a sweep forgets of notifications.

mod attempts;
mod erasures;
mod in_app;
mod requests;

use std::time::Duration;

use claimstream_domain::Retention;

use crate::{
    database::capability::Capability,
    sweep::{part::Part, round::before},
};

/// Erasures are kept at least that long: a message may come whose request is not known any more.
const KEEP_ERASURES: Duration = Duration::from_secs(30 * 24 * 3600);

/// Requests as long as dedup keys are kept, and entries of inboxes as long as is asked, or until they are erased; attempts go after the
/// requests that they belong to.
pub(crate) fn parts(retention: Retention, in_app: Option<Duration>) -> Vec<Part> {
    const NOTIFICATIONS: Capability = Capability::Notifications;
    let kept = retention.of_keys();
    vec![
        Part::new("requests", NOTIFICATIONS, move |round, now| {
            Box::pin(async move { Ok(vec![("requests", round.requests(before(now, kept)).await?)]) })
        }),
        Part::new("erasures", NOTIFICATIONS, move |round, now| {
            let bound = before(now, kept.max(KEEP_ERASURES));
            Box::pin(async move { round.erasures(bound).await.map(|()| Vec::new()) })
        }),
        Part::new("attempts", NOTIFICATIONS, move |round, now| {
            Box::pin(async move { round.attempts(before(now, kept)).await.map(|()| Vec::new()) })
        }),
        Part::new("in-app inboxes", NOTIFICATIONS, move |round, _| {
            Box::pin(async move { Ok(vec![("in_app", round.in_app(in_app).await?)]) })
        }),
    ]
}
