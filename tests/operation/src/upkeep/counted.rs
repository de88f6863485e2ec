//! A self-check that people look at again and again counts no queue that was counted a moment ago.
//! Promise: a check counts no queue that was just counted

use claimstream_domain::{MessageId, NewMessage, PauseNote, Payload, Retention};
use claimstream_ports::{Observe, PauseQueues, SelfCheck};
use claimstream_sea_orm::Severity;
use uuid::Uuid;

use super::{Place, Setup};
use crate::Fixture;

pub(super) fn add_to(suite: &mut crate::Suite, place: &Place) {
    // Guard: a check uses the newest count | adapters/sea-orm/src/outbox/doctor.rs `check`: `None` in place
    // of `counted`
    // Guard: a resumption discards the newest count | adapters/sea-orm/src/outbox/pauses.rs `resume`: no
    // `forget`
    let name = "a_check_takes_the_count_that_was_just_made";
    place.add(suite, "auto", Retention::default(), name, count_is_taken);
}

async fn count_is_taken(setup: Setup) {
    let (queue, payload) = (Fixture::fresh_queue(), Payload::json("{}"));
    let message = NewMessage::new(MessageId::new(Uuid::now_v7()), queue.clone(), payload);
    setup.outbox.enqueue_now(&[message]).await.expect("enqueue");
    let lie_in =
        async |shard: u16| setup.execute(&format!("UPDATE claimstream_queue SET shard = {shard}")).await;
    lie_in(999).await;
    assert!(names_stray(&setup).await, "nothing was counted before, so the check counts");
    lie_in(0).await;
    setup.outbox.observe().await.expect("a count");
    lie_in(999).await;
    assert!(!names_stray(&setup).await, "the check counts once more");
    setup.outbox.observe().await.expect("a count");
    assert!(names_stray(&setup).await);
    lie_in(0).await;
    let note = PauseNote::new("ann", None).expect("a note");
    assert!(setup.outbox.pause(&queue, &note).await.expect("a pause"));
    assert!(setup.outbox.resume(&queue, "ann").await.expect("a resumption"));
    assert!(!names_stray(&setup).await, "after a resumption the check counts again");
}

/// Whether the check names messages in shards that are not there.
async fn names_stray(setup: &Setup) -> bool {
    let groups = setup.outbox.check().await.expect("a check");
    let mut findings = groups.into_iter().flat_map(|group| group.findings);
    findings.any(|one| one.severity == Severity::Failure && one.detail.contains("lie in shard"))
}
