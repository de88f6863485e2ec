//! A0.5: dead letters are reported in a queue.
//! Promise: each dead letter is reported by one event, which never leads to events of its own

use claimstream::{DeadLetterClass, DeadLetterEvent, RelayConfig, Verdict};
use claimstream_domain::{QueueName, RetryPolicy, Settled::Accepted};

use super::process::{Process, config};
use crate::{
    Fixture,
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<Fixture>] = cases!["scenarios" needs [Claims, Settlements]:
    a0_5_a_dead_letter_is_reported_in_a_queue_of_its_own,
    a0_5_relays_that_tell_each_other_of_dead_letters_do_not_go_on_for_ever,
];

/// Guard: a second burial has another event | app/outbox/src/report/dead_letter_event.rs `message`: the id of the
/// message alone
pub async fn a0_5_a_dead_letter_is_reported_in_a_queue_of_its_own(fixture: Fixture) {
    let sent = fixture.enqueue(2).await;
    let events = fixture.rival.on(&Fixture::fresh_queue());
    let retry = RetryPolicy { max_attempts: 1, ..RetryPolicy::default() };
    let dead_letter_events = Some(events.queue().clone());
    let mut process = Process::new(&fixture.store, RelayConfig { retry, dead_letter_events, ..config(10) });
    let classes = [DeadLetterClass::Failed, DeadLetterClass::Buried];
    for (id, class) in sent.iter().zip(classes) {
        let claim = process.next().await.expect("a claim");
        assert_eq!(claim.message().id, *id);
        let verdict = match class {
            DeadLetterClass::Buried => Verdict::bury("never"),
            _ => Verdict::nack("not once more"),
        };
        assert_eq!(process.settle(claim, verdict).await, Accepted);
        let event = events.take_one().await;
        assert_eq!(events.ack(&event).await, Accepted);
        let event: DeadLetterEvent = serde_json::from_slice(event.message.payload.bytes()).expect("an event");
        assert_eq!((event.message, event.attempts, event.class), (id.uuid(), 1, class));
        assert_eq!(event.queue, fixture.queue().as_str());
    }
    assert_eq!(fixture.store.dead().await.len(), 2);
    assert_eq!(fixture.store.revive(&fixture.store.own_dead()).await, 2);
    let claim = process.next().await.expect("a revived message");
    assert_eq!(process.settle(claim, Verdict::bury("again")).await, Accepted);
    assert_eq!(events.take_all().await.len(), 1, "a second burial has an event as well");
}

pub async fn a0_5_relays_that_tell_each_other_of_dead_letters_do_not_go_on_for_ever(fixture: Fixture) {
    fixture.enqueue(1).await;
    let other = fixture.rival.on(&Fixture::fresh_queue());
    let telling = |queue: &QueueName| RelayConfig { dead_letter_events: Some(queue.clone()), ..config(10) };
    let mut here = Process::new(&fixture.store, telling(other.queue()));
    let mut there = Process::new(&other, telling(fixture.queue()));
    let claim = here.next().await.expect("a claim");
    assert_eq!(here.settle(claim, Verdict::bury("never")).await, Accepted);
    let event = there.next().await.expect("an event");
    assert_eq!(there.settle(event, Verdict::bury("nor this")).await, Accepted);
    assert!(here.next().await.is_none(), "an event of an event");
    assert_eq!((fixture.store.dead().await.len(), other.dead().await.len()), (1, 1));
}
