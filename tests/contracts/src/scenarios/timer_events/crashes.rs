//! A2.6 and A2.7: processes that end in the middle of a run.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::{Verdict, step::NewStep};
use claimstream_steps::timer_event::{DecisionError, EventStatus, FailurePolicy, Ticked};
use futures::FutureExt;

use super::{
    calls::Calls,
    gate::Gate,
    turn::{moves_on_once, turn},
};
use crate::{
    Action, Events, LEASE, TestDecision, TestScheme, TimerFixture,
    fixture::{Cut, Random},
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<TimerFixture>] = cases!["scenarios" needs [Timers]:
    a2_6_a_success_whose_timer_was_not_moved_runs_nothing_and_moves_it,
    a2_6_after_a_crash_a_recorded_decision_is_not_repeated,
    a2_6_after_a_crash_before_its_record_a_remote_decision_is_called_with_the_same_key,
    a2_7_any_mix_of_failures_and_crashes_lets_each_decision_succeed_once,
];

pub async fn a2_6_a_success_whose_timer_was_not_moved_runs_nothing_and_moves_it(fixture: TimerFixture) {
    let calls = Calls::default();
    let events =
        fixture.store.events.set_up(fixture.outbox.queue(), &TestScheme::of(vec![calls.works("d1")]));
    let tx = fixture.store.steps.begin().await.expect("begin");
    let done = NewStep::new(TimerFixture::event_key(), EventStatus::Success.code());
    tx.begin_step(&done).await.expect("a step");
    tx.commit().await.expect("commit");
    fixture.advance_to(TimerFixture::FIRST).await;
    for _ in 0..2 {
        let ticked = events.visit(&TimerFixture::tick()).await.expect("a visit");
        assert_eq!(ticked, Ticked::Complete { status: EventStatus::Success, hook: None });
    }
    moves_on_once(&fixture, &*events, &calls).await;
}

pub async fn a2_6_after_a_crash_a_recorded_decision_is_not_repeated(fixture: TimerFixture) {
    let (calls, gate) = (Calls::default(), Gate::default());
    let scheme = TestScheme::of(vec![calls.works("d1"), calls.calls("d2"), gate.guards("d3")]);
    let events = fixture.store.events.set_up(fixture.outbox.queue(), &scheme);
    events.start().await.expect("start");
    fixture.advance_to(TimerFixture::FIRST).await;
    crash(&fixture, events, &gate).await;
    let events = fixture.rival.events.set_up(fixture.outbox.queue(), &scheme);
    gate.open.notify_one();
    assert_eq!(turn(&fixture.outbox.rival, &*events).await, [Verdict::ack()]);
    assert_eq!(calls.made(), ["d1", "d2"]);
    assert_eq!(fixture.emptied(TestScheme::EFFECTS).await, ["d1"]);
    assert_eq!(fixture.status().await, Some(EventStatus::Success));
}

pub async fn a2_6_after_a_crash_before_its_record_a_remote_decision_is_called_with_the_same_key(
    fixture: TimerFixture,
) {
    let gate = Gate::default();
    let scheme = TestScheme::of(vec![gate.guards("d1")]);
    let events = fixture.store.events.set_up(fixture.outbox.queue(), &scheme);
    events.start().await.expect("start");
    fixture.advance_to(TimerFixture::FIRST).await;
    crash(&fixture, events, &gate).await;
    let events = fixture.rival.events.set_up(fixture.outbox.queue(), &scheme);
    gate.open.notify_one();
    assert_eq!(turn(&fixture.outbox.rival, &*events).await, [Verdict::ack()]);
    let keys = gate.calls.keys();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
    assert_eq!(keys[0], TimerFixture::tick().event_id().decision_key(&"d1".parse().expect("a name")));
}

pub async fn a2_7_any_mix_of_failures_and_crashes_lets_each_decision_succeed_once(fixture: TimerFixture) {
    let mut random = Random(7);
    let mut ended = [0, 0];
    for share in [2, 4, 12, 200] {
        let tick = fixture.next_tick().await;
        let lots = Arc::new(Mutex::new(Random(random.below(1 << 30) as u64)));
        let decision = |name| TestDecision { name, is_remote: false, action: drawn(&lots, share) };
        let policy = [FailurePolicy::Stop, FailurePolicy::Continue][random.below(2)];
        let scheme =
            TestScheme { policy, ..TestScheme::of(vec![decision("d1"), decision("d2"), decision("d3")]) };
        for n in 0..50 {
            let side = [&fixture.store, &fixture.rival][random.below(2)];
            let events = side.events.set_up(fixture.outbox.queue(), &scheme);
            // No process crashes at the end, so that whatever has succeeded comes to its end in time.
            let polls = if n < 30 && random.below(4) == 0 { 1 + random.below(8) } else { usize::MAX };
            if let Some(visited) = (Cut { polls, late: false }).short(events.visit(&tick)).await {
                visited.expect("a visit");
            }
            fixture.outbox.advance(Duration::from_secs(7)).await;
        }
        let status = fixture.status_of(&tick).await.expect("an event");
        let effects = fixture.emptied(TestScheme::EFFECTS).await;
        let each: BTreeSet<_> = effects.iter().collect();
        assert_eq!(effects.len(), each.len(), "a decision succeeded twice: {effects:?}");
        assert_eq!(effects.len() == 3, status == EventStatus::Success, "{effects:?} {status:?}");
        let timed_out = usize::from(status == EventStatus::Timeout);
        assert_eq!(fixture.emptied(TestScheme::ALARMS).await.len(), timed_out, "{status:?}");
        ended[timed_out] += 1;
    }
    println!("a2_7: {} events succeeded, {} timed out", ended[0], ended[1]);
}

/// Fails unless the lot falls on one in so many.
fn drawn(lots: &Arc<Mutex<Random>>, share: usize) -> Action {
    let lots = lots.clone();
    Arc::new(move |_| {
        let fails = lots.lock().unwrap_or_else(PoisonError::into_inner).below(share) > 0;
        async move { if fails { Err(DecisionError::failed("drawn")) } else { Ok(()) } }.boxed()
    })
}

/// Lets the holder of the tick end in the middle, at the gate, and its lease run out.
async fn crash(fixture: &TimerFixture, events: Arc<dyn Events>, gate: &Gate) {
    let claimed = fixture.outbox.store.take_one().await;
    let dying = tokio::spawn(async move { events.handle(&claimed).await });
    gate.entered.notified().await;
    dying.abort();
    assert!(dying.await.is_err_and(|error| error.is_cancelled()));
    fixture.outbox.advance(LEASE).await;
}
