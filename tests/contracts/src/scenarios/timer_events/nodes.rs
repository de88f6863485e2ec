//! A2.2 and A2.3: two nodes and one tick, where two transactions can write at a time.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use claimstream_domain::Verdict;
use claimstream_ports::step::{LockWait, Locked};
use claimstream_steps::timer_event::{EventStatus, RowLock, Ticked};
use futures::future::join_all;

use super::{
    calls::Calls,
    turn::{moves_on_once, turn},
};
use crate::{
    SetUpEvents, TestScheme, TimerFixture,
    suite::{Case, cases},
};

pub const CONCURRENT: &[Case<TimerFixture>] = cases!["scenarios" needs [Timers, ParallelWrites]:
    a2_2_two_nodes_that_fire_at_once_make_one_row_and_one_run over wire,
    a2_2_two_nodes_that_look_for_one_tick_at_once_make_one_run_without_a_row_lock,
    a2_3_without_waiting_a_row_that_is_held_is_busy_at_once over wire,
    a2_3_in_wait_mode_a_run_waits_for_the_row,
];

/// The row is absent, and both see that: under REPEATABLE READ this is where the source text's order blocks itself.
pub async fn a2_2_two_nodes_that_fire_at_once_make_one_row_and_one_run(fixture: TimerFixture) {
    let usual = [fixture.store.events.clone(), fixture.rival.events.clone()];
    for (isolation, nodes) in [("as usual", Some(&usual)), ("REPEATABLE READ", fixture.repeatable.as_ref())] {
        let Some(nodes) = nodes else { continue };
        for row_lock in [RowLock::None, RowLock::Wait] {
            fire_at_once(&fixture, nodes, row_lock).await;
            assert_eq!(fixture.outbox.lock_timeouts(), 0, "lock-wait timeouts {isolation}, {row_lock:?}");
        }
    }
}

/// The timer's message is what keeps two runs apart where no row is locked: the node that claims it runs, and the other finds nothing.
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

async fn fire_at_once(fixture: &TimerFixture, nodes: &[Arc<dyn SetUpEvents>; 2], row_lock: RowLock) {
    for _ in 0..5 {
        let tick = fixture.next_tick().await;
        let calls = Calls::default();
        let decisions = vec![calls.works("d1"), calls.calls("d2"), calls.works("d3")];
        let scheme = TestScheme { row_lock, ..TestScheme::of(decisions) };
        let nodes = nodes.each_ref().map(|node| node.set_up(fixture.outbox.queue(), &scheme));
        let visits = nodes.map(|node| {
            let tick = tick.clone();
            tokio::spawn(async move { node.visit(&tick).await.expect("a visit") })
        });
        let ended: Vec<_> = join_all(visits).await.into_iter().map(|visit| visit.expect("a node")).collect();
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
    assert_eq!(events.visit(&TimerFixture::tick()).await.expect("a visit"), Ticked::Busy);
    assert_eq!(fixture.outbox.lock_timeouts(), 0, "it waited for the row");
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
