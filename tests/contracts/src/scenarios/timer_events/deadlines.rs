//! A2.4, A2.5 and X2: events that do not succeed until their deadline.

use std::time::Duration;

use claimstream_domain::{Disposition, RetryPolicy, Settled, Verdict, decide, notification::RequestStatus};
use claimstream_notifications::{MESSAGE_QUEUE, REQUEST_QUEUE};
use claimstream_ports::Handler;
use claimstream_steps::timer_event::{EventStatus, Ticked};

use super::{
    calls::Calls,
    gate::Gate,
    turn::{moves_on_once, turn},
};
use crate::{
    TestScheme, TimerFixture,
    fixture::{Deliveries, fan_out_to, queue},
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<TimerFixture>] = cases!["scenarios" needs [Timers]:
    a2_4_what_fails_until_the_deadline_times_out_with_one_alarm_and_the_timer_moves_on,
    a2_4_a_hook_that_fails_is_repeated_and_holds_up_nothing,
    a2_5_a_run_that_ends_after_the_timeout_changes_nothing_and_says_so,
    a2_5_no_decision_begins_after_the_timeout,
    x2_a_timeouts_alarm_is_a_notification_request_that_is_delivered_once,
];

pub async fn a2_4_what_fails_until_the_deadline_times_out_with_one_alarm_and_the_timer_moves_on(
    fixture: TimerFixture,
) {
    let calls = Calls::default();
    let hook = calls.action("hook", 0);
    let decisions = vec![calls.works("d1"), calls.fails("d2", usize::MAX), calls.works("d3")];
    let scheme = TestScheme { hook: Some(hook), ..TestScheme::of(decisions) };
    let events = fixture.store.events.set_up(fixture.outbox.queue(), &scheme);
    events.start().await.expect("start");
    fixture.advance_to(TimerFixture::FIRST).await;
    for _ in 0..30 {
        let verdicts = turn(&fixture.outbox.store, &*events).await;
        assert!(matches!(verdicts[..], [Verdict::Nack { .. }]), "{verdicts:?}");
        fixture.outbox.advance(TestScheme::RETRY).await;
    }
    let runs = calls.made().len();
    assert_eq!((runs, fixture.status().await), (31, Some(EventStatus::Init)));
    fixture.outbox.advance(Duration::from_secs(1)).await;

    // The tick that comes again and the one of the deadline are both due.
    assert_eq!(turn(&fixture.outbox.store, &*events).await, [Verdict::ack(), Verdict::ack()]);
    assert_eq!(fixture.status().await, Some(EventStatus::Timeout));
    assert_eq!(calls.made()[runs..], ["hook"]);
    assert_eq!(fixture.emptied(TestScheme::EFFECTS).await, ["d1", "hook"]);
    let alarms = fixture.emptied(TestScheme::ALARMS).await;
    assert_eq!(alarms.len(), 1, "{alarms:?}");
    assert!(alarms[0].contains(r#""unfinished":["d2","d3"]"#), "{alarms:?}");

    // Ticks of the old event, on either node.
    for node in [&fixture.store, &fixture.rival] {
        let events = node.events.set_up(fixture.outbox.queue(), &scheme);
        let late = events.visit(&TimerFixture::tick()).await.expect("a visit");
        assert_eq!(late, Ticked::Complete { status: EventStatus::Timeout, hook: None });
    }
    assert_eq!(
        (fixture.emptied(TestScheme::ALARMS).await.len(), fixture.emptied(TestScheme::EFFECTS).await.len()),
        (0, 0)
    );
    moves_on_once(&fixture, &*events, &calls).await;
}

pub async fn a2_4_a_hook_that_fails_is_repeated_and_holds_up_nothing(fixture: TimerFixture) {
    let calls = Calls::default();
    let hook = calls.action("hook", 1);
    let scheme = TestScheme { hook: Some(hook), ..TestScheme::of(vec![calls.fails("d1", usize::MAX)]) };
    let events = fixture.store.events.set_up(fixture.outbox.queue(), &scheme);
    fixture.advance_to(TimerFixture::FIRST).await;
    events.visit(&TimerFixture::tick()).await.expect("a visit");
    fixture.outbox.advance(TestScheme::DEADLINE).await;
    let ticked = events.visit(&TimerFixture::tick()).await.expect("a visit");
    assert!(matches!(ticked, Ticked::TimedOut { next: Some(_), hook: Some(_) }), "{ticked:?}");
    assert_eq!(
        (fixture.emptied(TestScheme::ALARMS).await.len(), fixture.emptied(TestScheme::EFFECTS).await.len()),
        (1, 0)
    );
    for _ in 0..2 {
        let again = events.visit(&TimerFixture::tick()).await.expect("a visit");
        assert_eq!(again, Ticked::Complete { status: EventStatus::Timeout, hook: None });
    }
    assert_eq!(fixture.emptied(TestScheme::EFFECTS).await, ["hook"]);
    assert_eq!(fixture.emptied(TestScheme::ALARMS).await.len(), 0);
}

/// Guard: an event ends only if it is as it was read | app/steps/src/timer_event/event_row.rs `change`: from
/// the row as it is now
pub async fn a2_5_a_run_that_ends_after_the_timeout_changes_nothing_and_says_so(fixture: TimerFixture) {
    let (calls, gate) = (Calls::default(), Gate::default());
    let scheme = TestScheme::of(vec![gate.guards("d1")]);
    let slow = fixture.store.events.set_up(fixture.outbox.queue(), &scheme);
    let other = fixture.rival.events.set_up(fixture.outbox.queue(), &scheme);
    fixture.advance_to(TimerFixture::FIRST).await;
    let run = tokio::spawn(async move { slow.visit(&TimerFixture::tick()).await.expect("a visit") });
    gate.entered.notified().await;
    fixture.outbox.advance(TestScheme::DEADLINE).await;
    assert_eq!(turn(&fixture.outbox.rival, &*other).await, [Verdict::ack()], "the tick of the deadline");
    assert_eq!(fixture.status().await, Some(EventStatus::Timeout));
    gate.open.notify_one();
    assert_eq!(run.await.expect("a node"), Ticked::Overtaken);
    assert_eq!(fixture.status().await, Some(EventStatus::Timeout));
    assert_eq!(fixture.emptied(TestScheme::ALARMS).await.len(), 1);
    moves_on_once(&fixture, &*other, &calls).await;
}

/// Guard: a decision begins only if its event is as it was read | app/steps/src/timer_event/event_row.rs
/// `is_unchanged`: always
pub async fn a2_5_no_decision_begins_after_the_timeout(fixture: TimerFixture) {
    let (calls, gate) = (Calls::default(), Gate::default());
    let scheme = TestScheme::of(vec![gate.guards("d1"), calls.works("d2"), calls.calls("d3")]);
    let slow = fixture.store.events.set_up(fixture.outbox.queue(), &scheme);
    let other = fixture.rival.events.set_up(fixture.outbox.queue(), &scheme);
    fixture.advance_to(TimerFixture::FIRST).await;
    let run = tokio::spawn(async move { slow.visit(&TimerFixture::tick()).await.expect("a visit") });
    gate.entered.notified().await;
    fixture.outbox.advance(TestScheme::DEADLINE).await;
    let ticked = other.visit(&TimerFixture::tick()).await.expect("a visit");
    assert!(matches!(ticked, Ticked::TimedOut { .. }), "{ticked:?}");
    gate.open.notify_one();
    assert_eq!(run.await.expect("a node"), Ticked::Overtaken);
    assert_eq!(calls.made().len(), 0);
    assert_eq!(fixture.emptied(TestScheme::EFFECTS).await.len(), 0);
}

pub async fn x2_a_timeouts_alarm_is_a_notification_request_that_is_delivered_once(fixture: TimerFixture) {
    let calls = Calls::default();
    let scheme = TestScheme { notifies: true, ..TestScheme::of(vec![calls.fails("d1", usize::MAX)]) };
    let events = fixture.store.events.set_up(fixture.outbox.queue(), &scheme);
    fixture.advance_to(TimerFixture::FIRST).await;
    events.visit(&TimerFixture::tick()).await.expect("a visit");
    fixture.outbox.advance(TestScheme::DEADLINE).await;
    for _ in 0..3 {
        events.visit(&TimerFixture::tick()).await.expect("a visit");
    }
    let requests = fixture.outbox.store.on(&queue(REQUEST_QUEUE));
    let request = requests.take_one().await;
    let alarm = TimerFixture::tick().event_id().alarm_id();
    assert_eq!(request.message.id.uuid(), alarm);
    // Handled twice, as after a lost ack.
    let (repository, records) =
        (fixture.store.notifications.requests.clone(), fixture.store.notifications.messages.clone());
    let handler = fan_out_to("on-call", repository, records.clone());
    for last in [false, true] {
        let verdict = handler.handle(&request).await;
        let disposition = decide(verdict, request.attempt, &RetryPolicy::default(), 0);
        if last {
            assert_eq!(requests.settle(&request.receipt, disposition).await, Settled::Accepted);
        } else {
            let Disposition::Done { emit } = disposition else { panic!("{disposition:?}") };
            requests.enqueue(&emit).await;
        }
    }
    requests.finds_nothing().await;
    let messages = fixture.outbox.store.on(&queue(MESSAGE_QUEUE));
    let message = messages.take_one().await;
    messages.finds_nothing().await;
    let deliveries = Deliveries::default();
    let handler = deliveries.handler(records);
    // Here as well.
    for _ in 0..2 {
        assert_eq!(handler.handle(&message).await, Verdict::ack());
    }
    assert_eq!(messages.ack(&message).await, Settled::Accepted);
    let delivered = deliveries.of(alarm);
    assert_eq!(delivered.len(), 1, "{delivered:?}");
    assert_eq!(delivered[0].address, "on-call@example.com");
    assert!(format!("{:?}", delivered[0].content).contains("monthly-bill timed out"), "{delivered:?}");
    let progress =
        fixture.rival.notifications.reports.progress(alarm).await.expect("progress").expect("a request");
    assert_eq!((progress.recorded, progress.delivered), (RequestStatus::Dispatched, 1));
    assert_eq!(progress.total(), 1);
}
