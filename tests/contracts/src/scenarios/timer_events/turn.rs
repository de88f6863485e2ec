use claimstream_domain::{Jitter, RetryPolicy, Settled, Verdict, decide};

use super::calls::Calls;
use crate::{Events, Instance, TimerFixture};

/// Handles all that is due as a pipeline would, and tells the verdicts.
pub(super) async fn turn(who: &Instance, events: &dyn Events) -> Vec<Verdict> {
    let policy = RetryPolicy { max_attempts: 1_000, jitter: Jitter::None, ..RetryPolicy::default() };
    let mut verdicts = Vec::new();
    for claimed in who.take_all().await {
        let verdict = events.handle(&claimed).await;
        let disposition = decide(verdict.clone(), claimed.attempt, &policy, 0);
        assert_eq!(who.settle(&claimed.receipt, disposition).await, Settled::Accepted);
        verdicts.push(verdict);
    }
    verdicts
}

/// Shows that the first event is over and that the timer has moved on to one next occurrence, which runs.
pub(super) async fn moves_on_once(fixture: &TimerFixture, events: &dyn Events, calls: &Calls) {
    let before = calls.made().len();
    fixture.advance_to("2021-03-04T05:19:59Z").await;
    let deadline = turn(&fixture.outbox.store, events).await;
    assert!(deadline.len() <= 1 && deadline.iter().all(|verdict| *verdict == Verdict::ack()), "{deadline:?}");
    assert_eq!(calls.made().len(), before, "an event that is over was run");
    let depth = fixture.outbox.store.status().await.map(|status| status.depth);
    assert_eq!(depth, Some(1), "the message of one next occurrence");
    fixture.outbox.store.finds_nothing().await;
    fixture.advance_to("2021-03-04T05:20:00Z").await;
    assert_eq!(fixture.outbox.store.take_all().await.len(), 1);
}
