//! A2.1: decisions that failed are made again, the others are not.

use claimstream_domain::Verdict;
use claimstream_steps::timer_event::{EventStatus, FailurePolicy, Ticked};

use super::{
    calls::Calls,
    turn::{moves_on_once, turn},
};
use crate::{
    TestScheme, TimerFixture,
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<TimerFixture>] = cases!["scenarios" needs [Timers]:
    a2_1_what_failed_is_repeated_and_what_succeeded_is_not,
    a2_1_under_the_policy_continue_what_follows_a_failure_is_run_at_once,
];

pub async fn a2_1_what_failed_is_repeated_and_what_succeeded_is_not(fixture: TimerFixture) {
    let calls = Calls::default();
    let decisions = vec![calls.works("d1"), calls.fails("d2", 1), calls.works("d3")];
    let events = fixture.store.events.set_up(fixture.outbox.queue(), &TestScheme::of(decisions));
    events.start().await.expect("start");
    fixture.advance_to(TimerFixture::FIRST).await;

    let verdicts = turn(&fixture.outbox.store, &*events).await;
    assert!(matches!(&verdicts[..], [Verdict::Nack { after: Some(TestScheme::RETRY), .. }]), "{verdicts:?}");
    assert_eq!(calls.made(), ["d1", "d2"]);
    assert_eq!(fixture.emptied(TestScheme::EFFECTS).await, ["d1"]);
    assert_eq!(fixture.status().await, Some(EventStatus::Init));
    // The tick itself, and the one of the deadline.
    assert_eq!(fixture.outbox.store.status().await.map(|status| status.depth), Some(2));

    fixture.outbox.advance(TestScheme::RETRY).await;
    assert_eq!(turn(&fixture.outbox.rival, &*events).await, [Verdict::ack()]);
    assert_eq!(calls.made(), ["d1", "d2", "d2", "d3"]);
    assert_eq!(fixture.emptied(TestScheme::EFFECTS).await, ["d2", "d3"]);
    assert_eq!(fixture.status().await, Some(EventStatus::Success));
    moves_on_once(&fixture, &*events, &calls).await;
}

pub async fn a2_1_under_the_policy_continue_what_follows_a_failure_is_run_at_once(fixture: TimerFixture) {
    let calls = Calls::default();
    let decisions = vec![calls.works("d1"), calls.fails("d2", 1), calls.works("d3")];
    let scheme = TestScheme { policy: FailurePolicy::Continue, ..TestScheme::of(decisions) };
    let events = fixture.store.events.set_up(fixture.outbox.queue(), &scheme);
    fixture.advance_to(TimerFixture::FIRST).await;
    let Ticked::Failed { decisions } = events.visit(&TimerFixture::tick()).await.expect("a visit") else {
        panic!("it did not fail")
    };
    assert_eq!(decisions.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["d2"]);
    assert_eq!(fixture.emptied(TestScheme::EFFECTS).await, ["d1", "d3"]);
    let again = events.visit(&TimerFixture::tick()).await.expect("a visit");
    assert!(matches!(again, Ticked::Succeeded { next: Some(_) }), "{again:?}");
    assert_eq!(calls.made(), ["d1", "d2", "d3", "d2"]);
    assert_eq!(fixture.emptied(TestScheme::EFFECTS).await, ["d2"]);
}
