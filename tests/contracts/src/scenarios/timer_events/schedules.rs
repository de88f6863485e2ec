//! When a timer starts, and which occurrences it leaves out.
//! Promise: a notification of a schedule is submitted once for each occurrence

use claimstream_domain::{QueueName, Verdict, notification::REQUEST_QUEUE, timer_event::Tick};
use claimstream_steps::timer_event::{EventStatus, Schedule};

use super::{
    calls::Calls,
    turn::{moves_on_once, turn},
};
use crate::{
    TestScheme, TimerFixture,
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<TimerFixture>] = cases!["scenarios" needs [Timers]:
    a2_a_timer_is_started_once_however_often_it_is_started,
    a2_a_service_that_slept_runs_what_waited_once_and_leaves_out_what_it_missed,
    a2_an_occurrence_of_an_old_schedule_is_passed_over,
    a2_a_timer_whose_queue_is_changed_goes_on_in_the_new_one,
    a_notification_of_a_schedule_is_submitted_once_for_each_occurrence,
];

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

/// Guard: a tick whose id is taken gets one of its queue | app/steps/src/timer_event/next_ticks.rs: no second
/// `enqueue`
pub async fn a2_a_timer_whose_queue_is_changed_goes_on_in_the_new_one(fixture: TimerFixture) {
    let calls = Calls::default();
    let scheme = TestScheme::of(vec![calls.works("d1")]);
    let before = fixture.store.events.set_up(fixture.outbox.queue(), &scheme);
    before.start().await.expect("start");
    let queue = QueueName::new(&format!("{}-moved", fixture.outbox.queue())).expect("a queue name");
    let after = fixture.rival.events.set_up(&queue, &scheme);
    for _ in 0..2 {
        after.start().await.expect("start");
    }
    let new = fixture.outbox.rival.on(&queue);
    assert_eq!(new.status().await.map(|status| status.depth), Some(1));
    fixture.advance_to(TimerFixture::FIRST).await;
    assert_eq!(turn(&new, &*after).await, [Verdict::ack()]);
    assert_eq!((calls.made(), fixture.status().await), (vec!["d1"], Some(EventStatus::Success)));
    for (moment, made) in [("2021-03-04T05:20:00Z", 2), ("2021-03-04T05:30:00Z", 3)] {
        fixture.advance_to(moment).await;
        let verdicts = turn(&new, &*after).await;
        assert!(!verdicts.is_empty() && verdicts.iter().all(|it| *it == Verdict::ack()), "{verdicts:?}");
        assert_eq!(calls.made().len(), made, "{moment}");
    }
}

pub async fn a_notification_of_a_schedule_is_submitted_once_for_each_occurrence(fixture: TimerFixture) {
    let scheme = TestScheme { sends: true, ..TestScheme::of(vec![]) };
    let nodes =
        [&fixture.store, &fixture.rival].map(|side| side.events.set_up(fixture.outbox.queue(), &scheme));
    let second = "2021-03-04T05:20:00Z";
    let queue = QueueName::new(REQUEST_QUEUE).expect("a queue name");
    let requests = fixture.outbox.store.on(&queue);
    for moment in [TimerFixture::FIRST, second] {
        fixture.advance_to(moment).await;
        let tick = Tick { occurrence: moment.parse().expect("a moment"), ..TimerFixture::tick() };
        for node in nodes.iter().chain(&nodes) {
            node.visit(&tick).await.expect("a visit");
        }
        let submitted = requests.take_one().await;
        let key = tick.event_id().decision_key(&"send".parse().expect("a name"));
        assert_eq!(submitted.message.id.uuid(), key);
        requests.finds_nothing().await;
        requests.ack(&submitted).await;
    }
}
