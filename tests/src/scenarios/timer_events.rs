use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use claimstream_domain::{
    Disposition, Jitter, RetryPolicy, Settled, Verdict, decide, notification::RequestStatus, step::NewStep,
};
use claimstream_notifications::{MESSAGE_QUEUE, REQUEST_QUEUE};
use claimstream_ports::{
    Handler,
    step::{LockWait, Locked},
};
use claimstream_steps::timer_event::{DecisionError, EventStatus, FailurePolicy, RowLock, Schedule, Ticked};
use futures::{FutureExt, future::join_all};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::{
    Action, Events, Instance, LEASE, SetUpEvents, TestDecision, TestScheme, TimerFixture,
    fixture::queue,
    fixture::{Cut, Random},
    fixture::{Deliveries, fan_out_to},
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<TimerFixture>] = cases!["scenarios" needs [Timers]:
    a2_1_what_failed_is_repeated_and_what_succeeded_is_not,
    a2_1_under_the_policy_continue_what_follows_a_failure_is_run_at_once,
    a2_4_what_fails_until_the_deadline_times_out_with_one_alarm_and_the_timer_moves_on,
    a2_4_a_hook_that_fails_is_repeated_and_holds_up_nothing,
    a2_5_a_run_that_ends_after_the_timeout_changes_nothing_and_says_so,
    a2_5_no_decision_begins_after_the_timeout,
    a2_6_a_success_whose_timer_was_not_moved_runs_nothing_and_moves_it,
    a2_6_after_a_crash_a_recorded_decision_is_not_repeated,
    a2_6_after_a_crash_before_its_record_a_remote_decision_is_called_with_the_same_key,
    a2_7_any_mix_of_failures_and_crashes_lets_each_decision_succeed_once,
    a2_a_timer_is_started_once_however_often_it_is_started,
    a2_a_service_that_slept_runs_what_waited_once_and_leaves_out_what_it_missed,
    a2_an_occurrence_of_an_old_schedule_is_passed_over,
    x2_a_timeouts_alarm_is_a_notification_request_that_is_delivered_once,
];

/// Where two transactions can write at a time.
pub const CONCURRENT: &[Case<TimerFixture>] = cases!["scenarios" needs [Timers, ParallelWrites]:
    a2_2_two_nodes_that_fire_at_once_make_one_row_and_one_run,
    a2_2_two_nodes_that_look_for_one_tick_at_once_make_one_run_without_a_row_lock,
    a2_3_without_waiting_a_row_that_is_held_is_busy_at_once,
    a2_3_in_wait_mode_a_run_waits_for_the_row,
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

/// The row is absent, and both see that: under REPEATABLE READ this is where the source text's order blocks itself.
pub async fn a2_2_two_nodes_that_fire_at_once_make_one_row_and_one_run(fixture: TimerFixture) {
    let usual = [fixture.store.events.clone(), fixture.rival.events.clone()];
    for (isolation, nodes) in [("as usual", Some(&usual)), ("REPEATABLE READ", fixture.repeatable.as_ref())] {
        let Some(nodes) = nodes else { continue };
        for row_lock in [RowLock::None, RowLock::Wait] {
            let took = fire_at_once(&fixture, nodes, row_lock).await;
            println!("a2_2 {isolation} {row_lock:?}: {took:?}");
            assert!(median(&took) < Duration::from_millis(500), "{isolation} {row_lock:?}: {took:?}");
        }
    }
}

/// The timer's message is what keeps two runs apart where no row is locked: whoever claims it runs, and the other finds nothing.
pub async fn a2_2_two_nodes_that_look_for_one_tick_at_once_make_one_run_without_a_row_lock(
    fixture: TimerFixture,
) {
    let calls = Calls::default();
    let decisions = vec![calls.works("d1"), calls.calls("d2"), calls.works("d3")];
    let scheme = TestScheme { row_lock: RowLock::None, ..TestScheme::of(decisions) };
    let [one, other] =
        [&fixture.store, &fixture.rival].map(|node| node.events.set_up(fixture.outbox.queue(), &scheme));
    one.start().await.expect("start");
    fixture.advance_to(TimerFixture::FIRST).await;
    let ran = futures::join!(turn(&fixture.outbox.store, &*one), turn(&fixture.outbox.rival, &*other));
    let ran = [ran.0, ran.1].concat();
    assert_eq!(ran, [Verdict::ack()], "one of them has the message");
    assert_eq!(calls.keys().len(), 1, "a remote decision is called once: {:?}", calls.keys());
    assert_eq!(fixture.emptied(TestScheme::EFFECTS).await, ["d1", "d3"]);
    assert_eq!(fixture.status().await, Some(EventStatus::Success));
    moves_on_once(&fixture, &*one, &calls).await;
}

async fn fire_at_once(
    fixture: &TimerFixture,
    nodes: &[Arc<dyn SetUpEvents>; 2],
    row_lock: RowLock,
) -> Vec<Duration> {
    let mut all = Vec::new();
    for _ in 0..5 {
        let tick = fixture.next_tick().await;
        let calls = Calls::default();
        let decisions = vec![calls.works("d1"), calls.calls("d2"), calls.works("d3")];
        let scheme = TestScheme { row_lock, ..TestScheme::of(decisions) };
        let nodes = nodes.each_ref().map(|node| node.set_up(fixture.outbox.queue(), &scheme));
        let begun = Instant::now();
        let visits = nodes.map(|node| {
            let tick = tick.clone();
            tokio::spawn(async move { node.visit(&tick).await.expect("a visit") })
        });
        let ended: Vec<_> = join_all(visits).await.into_iter().map(|visit| visit.expect("a node")).collect();
        let took = begun.elapsed();
        all.push(took);
        assert!(took < Duration::from_secs(5), "a lock-wait timeout? {took:?}");
        let successes = ended.iter().filter(|ended| matches!(ended, Ticked::Succeeded { .. })).count();
        assert_eq!(successes, 1, "{ended:?}");
        let others = |ended: &&Ticked| matches!(ended, Ticked::Complete { .. } | Ticked::Overtaken);
        assert_eq!(ended.iter().filter(others).count(), 1, "{ended:?}");
        assert_eq!(fixture.emptied(TestScheme::EFFECTS).await, ["d1", "d3"]);
        let keys: BTreeSet<_> = calls.keys().into_iter().collect();
        assert_eq!(keys.len(), 1, "a remote decision has one key: {keys:?}");
        if row_lock == RowLock::Wait {
            assert_eq!(calls.keys().len(), 1, "a locked row lets one call through");
        }
    }
    all
}

/// A lock that waits would hold up every round; something else on the machine may hold up one.
fn median(took: &[Duration]) -> Duration {
    let mut sorted = took.to_vec();
    sorted.sort();
    sorted[sorted.len() / 2]
}

pub async fn a2_3_without_waiting_a_row_that_is_held_is_busy_at_once(fixture: TimerFixture) {
    let calls = Calls::default();
    let scheme = TestScheme { row_lock: RowLock::NoWait, ..TestScheme::of(vec![calls.fails("d1", 1)]) };
    let events = fixture.store.events.set_up(fixture.outbox.queue(), &scheme);
    fixture.advance_to(TimerFixture::FIRST).await;
    events.visit(&TimerFixture::tick()).await.expect("a visit");
    let holder = fixture.rival.steps.begin().await.expect("begin");
    let held = holder.lock_step(&TimerFixture::event_key(), LockWait::Wait).await.expect("lock");
    assert!(matches!(held, Locked::Held(_)), "{held:?}");
    let mut took = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        assert_eq!(events.visit(&TimerFixture::tick()).await.expect("a visit"), Ticked::Busy);
        took.push(begun.elapsed());
    }
    println!("a2_3: busy after {took:?}");
    assert!(median(&took) < Duration::from_millis(50), "{took:?}");
    assert_eq!(calls.made(), ["d1"]);
    holder.roll_back().await.expect("roll back");
    let ticked = events.visit(&TimerFixture::tick()).await.expect("a visit");
    assert!(matches!(ticked, Ticked::Succeeded { .. }), "{ticked:?}");
}

pub async fn a2_3_in_wait_mode_a_run_waits_for_the_row(fixture: TimerFixture) {
    let calls = Calls::default();
    let scheme = TestScheme { row_lock: RowLock::Wait, ..TestScheme::of(vec![calls.fails("d1", 1)]) };
    let events = fixture.store.events.set_up(fixture.outbox.queue(), &scheme);
    fixture.advance_to(TimerFixture::FIRST).await;
    events.visit(&TimerFixture::tick()).await.expect("a visit");
    let holder = fixture.rival.steps.begin().await.expect("begin");
    holder.lock_step(&TimerFixture::event_key(), LockWait::Wait).await.expect("lock");
    let waiting = tokio::spawn(async move { events.visit(&TimerFixture::tick()).await.expect("a visit") });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!waiting.is_finished() && calls.made() == ["d1"], "it did not wait");
    holder.roll_back().await.expect("roll back");
    let ticked = waiting.await.expect("a node");
    assert!(matches!(ticked, Ticked::Succeeded { .. }), "{ticked:?}");
}

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

    // Ticks of the old event, whoever makes them.
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
            // Nobody crashes at the end, so that whatever has succeeded comes to its end in time.
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

pub async fn a2_a_timer_is_started_once_however_often_it_is_started(fixture: TimerFixture) {
    let calls = Calls::default();
    let scheme = TestScheme::of(vec![calls.works("d1")]);
    let nodes =
        [&fixture.store, &fixture.rival].map(|side| side.events.set_up(fixture.outbox.queue(), &scheme));
    for _ in 0..2 {
        for node in &nodes {
            node.start().await.expect("start");
        }
    }
    assert_eq!(fixture.outbox.store.status().await.map(|status| status.depth), Some(1));
    fixture.advance_to(TimerFixture::FIRST).await;
    assert_eq!(turn(&fixture.outbox.store, &*nodes[0]).await, [Verdict::ack()]);
    nodes[1].start().await.expect("start");
    moves_on_once(&fixture, &*nodes[1], &calls).await;
}

pub async fn a2_a_service_that_slept_runs_what_waited_once_and_leaves_out_what_it_missed(
    fixture: TimerFixture,
) {
    let calls = Calls::default();
    let events =
        fixture.store.events.set_up(fixture.outbox.queue(), &TestScheme::of(vec![calls.works("d1")]));
    events.start().await.expect("start");
    fixture.advance_to("2021-03-04T09:17:00Z").await;
    assert_eq!(turn(&fixture.outbox.store, &*events).await, [Verdict::ack()]);
    assert_eq!((calls.made().len(), fixture.status().await), (1, Some(EventStatus::Success)));
    fixture.outbox.store.finds_nothing().await;
    fixture.advance_to("2021-03-04T09:20:00Z").await;
    assert_eq!(turn(&fixture.outbox.store, &*events).await, [Verdict::ack()]);
    assert_eq!(calls.made().len(), 2);
}

pub async fn a2_an_occurrence_of_an_old_schedule_is_passed_over(fixture: TimerFixture) {
    let calls = Calls::default();
    let old = TestScheme::of(vec![calls.works("d1")]);
    let new =
        TestScheme { schedule: Schedule::cron("15 * * * *", "UTC").expect("a schedule"), ..old.clone() };
    let events = fixture.store.events.set_up(fixture.outbox.queue(), &old);
    events.start().await.expect("start");
    fixture.advance_to(TimerFixture::FIRST).await;
    let events = fixture.rival.events.set_up(fixture.outbox.queue(), &new);
    assert_eq!(turn(&fixture.outbox.rival, &*events).await, [Verdict::ack()]);
    assert_eq!((calls.made().len(), fixture.status().await), (0, None));
    fixture.advance_to("2021-03-04T05:15:00Z").await;
    assert_eq!(turn(&fixture.outbox.rival, &*events).await, [Verdict::ack()]);
    assert_eq!(calls.made(), ["d1"]);
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

/// Handles all that is due as a pipeline would, and tells the verdicts.
async fn turn(who: &Instance, events: &dyn Events) -> Vec<Verdict> {
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
async fn moves_on_once(fixture: &TimerFixture, events: &dyn Events, calls: &Calls) {
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

/// Lets the holder of the tick end in the middle, at the gate, and its lease run out.
async fn crash(fixture: &TimerFixture, events: Arc<dyn Events>, gate: &Gate) {
    let claimed = fixture.outbox.store.take_one().await;
    let dying = tokio::spawn(async move { events.handle(&claimed).await });
    gate.entered.notified().await;
    dying.abort();
    assert!(dying.await.is_err_and(|error| error.is_cancelled()));
    fixture.outbox.advance(LEASE).await;
}

/// What decisions were called, in order.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<Call>>>);

/// A decision, and the key it was given.
type Call = (&'static str, Option<Uuid>);

impl Calls {
    /// A local decision that works.
    fn works(&self, name: &'static str) -> TestDecision {
        self.fails(name, 0)
    }

    /// A local decision that fails so often and works then.
    fn fails(&self, name: &'static str, times: usize) -> TestDecision {
        TestDecision { name, is_remote: false, action: self.action(name, times) }
    }

    /// A remote decision that works.
    fn calls(&self, name: &'static str) -> TestDecision {
        TestDecision { name, is_remote: true, action: self.action(name, 0) }
    }

    fn action(&self, name: &'static str, failing: usize) -> Action {
        let calls = self.clone();
        Arc::new(move |key| {
            let before = calls.note(name, key);
            async move { if before < failing { Err(DecisionError::failed("told to")) } else { Ok(()) } }
                .boxed()
        })
    }

    /// Notes a call and tells how many of its name there were.
    fn note(&self, name: &'static str, key: Option<Uuid>) -> usize {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push((name, key));
        calls.iter().filter(|(called, _)| *called == name).count() - 1
    }

    fn made(&self) -> Vec<&'static str> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(name, _)| *name).collect()
    }

    fn keys(&self) -> Vec<Uuid> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(|(_, key)| *key).collect()
    }
}

/// Holds a remote decision in the middle.
#[derive(Clone, Default)]
struct Gate {
    entered: Arc<Notify>,
    open: Arc<Notify>,
    calls: Calls,
}

impl Gate {
    fn guards(&self, name: &'static str) -> TestDecision {
        let gate = self.clone();
        let action: Action = Arc::new(move |key| {
            let gate = gate.clone();
            async move {
                gate.calls.note(name, key);
                gate.entered.notify_one();
                gate.open.notified().await;
                Ok(())
            }
            .boxed()
        });
        TestDecision { name, is_remote: true, action }
    }
}
