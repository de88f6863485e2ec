//! Sagas that a person continues.
//! Promise: a person continues a saga at any time and any number of times by one message; a dead letter in
//! its way is named

use std::{collections::BTreeSet, time::Duration};

use claimstream_domain::{
    QueueName,
    saga::{NewSaga, SagaContinued, SagaId, SagaOrder, SagaOrderKind, SagaState},
    step::{NewStep, StepKey},
};
use futures::future::join;
use uuid::Uuid;

use super::{change, scope};
use crate::{
    Instance, StepFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<StepFixture>] = cases!["runs" needs [Steps, Claims]:
    a_saga_is_continued_by_a_message_that_is_due_at_once,
    two_people_who_continue_a_saga_at_one_time_enqueue_one_message,
    a_saga_that_is_being_run_or_has_ended_is_not_continued,
    a_saga_whose_message_is_a_dead_letter_is_continued_by_its_revival,
    a_saga_is_continued_after_its_dead_letter_was_purged,
];

const SECOND: Duration = Duration::from_secs(1);

pub async fn a_saga_is_continued_by_a_message_that_is_due_at_once(fixture: StepFixture) {
    let (queue, id) = (saga_queue(), saga_id());
    let relay = begin_saga(&fixture, &queue, id).await;
    let SagaContinued::Asked(first) = proceed(&fixture, &queue, id).await else { panic!("not asked") };
    // It is due, so nothing is to be added.
    assert_eq!(proceed(&fixture, &queue, id).await, SagaContinued::UnderWay(first));
    let claimed = relay.take_one().await;
    assert_eq!(claimed.message.id, first);
    let order: SagaOrder = serde_json::from_slice(claimed.message.payload.bytes()).expect("an order");
    assert_eq!((order.order, order.saga, &*order.owner), (SagaOrderKind::Check, id, "anna"));
    assert_eq!(order.input, serde_json::json!({"amount": 7}));
    // It waits for its next attempt, so a second wish is a second message, and so on up to three.
    relay.nack(&claimed, 100 * SECOND, "the bank is away").await;
    let mut seen = BTreeSet::from([first]);
    for _ in 0..2 {
        let SagaContinued::Asked(next) = proceed(&fixture, &queue, id).await else { panic!("not asked") };
        assert!(seen.insert(next), "{next} was there");
        relay.nack(&relay.take_one().await, 100 * SECOND, "the bank is away").await;
    }
    assert_eq!(proceed(&fixture, &queue, id).await, SagaContinued::Waiting(first));
    fixture.outbox.advance(200 * SECOND).await;
    let all = relay.take_all().await;
    assert_eq!(all.iter().map(|claimed| claimed.message.id).filter(|id| seen.contains(id)).count(), 3);
    for claimed in &all {
        relay.ack(claimed).await;
    }
    assert_eq!(proceed(&fixture, &queue, id).await, SagaContinued::Asked(first));
}

pub async fn two_people_who_continue_a_saga_at_one_time_enqueue_one_message(fixture: StepFixture) {
    let (queue, id) = (saga_queue(), saga_id());
    let relay = begin_saga(&fixture, &queue, id).await;
    let answers = join(proceed(&fixture, &queue, id), proceed(&fixture, &queue, id)).await;
    let asked = |answer: &SagaContinued| matches!(answer, SagaContinued::Asked(_));
    let all = [answers.0, answers.1];
    assert_eq!(all.iter().filter(|answer| asked(answer)).count(), 1, "{all:?}");
    assert!(all.iter().any(|answer| matches!(answer, SagaContinued::UnderWay(_))), "{all:?}");
    assert_eq!(relay.take_all().await.len(), 1);
}

pub async fn a_saga_that_is_being_run_or_has_ended_is_not_continued(fixture: StepFixture) {
    let (queue, id) = (saga_queue(), saga_id());
    assert_eq!(proceed(&fixture, &queue, id).await, SagaContinued::Unknown);
    let relay = begin_saga(&fixture, &queue, id).await;
    fixture.outbox.advance(60 * SECOND).await;
    let check = relay.take_one().await;
    assert_eq!(proceed(&fixture, &queue, id).await, SagaContinued::UnderWay(check.message.id));
    change(&fixture, queue.as_str(), &id.to_string(), SagaState::Finish.code()).await;
    assert_eq!(proceed(&fixture, &queue, id).await, SagaContinued::Over(SagaState::Finish));
    relay.ack(&check).await;
    relay.finds_nothing().await;
}

pub async fn a_saga_whose_message_is_a_dead_letter_is_continued_by_its_revival(fixture: StepFixture) {
    let (queue, id) = (saga_queue(), saga_id());
    let relay = begin_saga(&fixture, &queue, id).await;
    fixture.outbox.advance(60 * SECOND).await;
    let check = relay.take_one().await;
    relay.bury(&check, "the saga is broken").await;
    assert_eq!(proceed(&fixture, &queue, id).await, SagaContinued::Dead(check.message.id));
    relay.finds_nothing().await;
    let revived = relay.ports.dead_letters.revive(&relay.own_dead()).await.expect("revived");
    assert_eq!(revived, 1);
    assert_eq!(proceed(&fixture, &queue, id).await, SagaContinued::UnderWay(check.message.id));
}

pub async fn a_saga_is_continued_after_its_dead_letter_was_purged(fixture: StepFixture) {
    let (queue, id) = (saga_queue(), saga_id());
    let relay = begin_saga(&fixture, &queue, id).await;
    let mut seen = BTreeSet::new();
    for _ in 0..3 {
        let SagaContinued::Asked(asked) = proceed(&fixture, &queue, id).await else { panic!("not asked") };
        let claimed = relay.take_one().await;
        assert_eq!(claimed.message.id, asked, "it is due");
        seen.insert(asked);
        relay.bury(&claimed, "the saga is broken").await;
        let purged = relay.ports.dead_letters.purge(&relay.own_dead()).await.expect("purged");
        assert_eq!(purged, 1);
    }
    // A store that remembers the ids of purged messages says so; one that forgets them begins again.
    let answer = proceed(&fixture, &queue, id).await;
    match seen.len() {
        3 => assert_eq!(answer, SagaContinued::UsedUp),
        _ => assert!(matches!(answer, SagaContinued::Asked(_)), "{answer:?}"),
    }
}

fn saga_queue() -> QueueName {
    QueueName::new(&scope("saga")).expect("a name")
}

fn saga_id() -> SagaId {
    SagaId::new(Uuid::now_v7())
}

/// Begins a saga with its check message, due in a minute; answers a relay of its queue.
async fn begin_saga(fixture: &StepFixture, queue: &QueueName, id: SagaId) -> Instance {
    let saga =
        NewSaga { scope: queue.as_str().into(), id, owner: "anna".into(), input: "{\"amount\":7}".into() };
    let key = StepKey::new(queue.as_str(), &id.to_string(), "").expect("a key");
    fixture.shown.begin_saga(&saga, &NewStep::new(key, SagaState::Init.code())).await.expect("begun");
    let order = SagaOrder {
        order: SagaOrderKind::Check,
        saga: id,
        owner: "anna".into(),
        input: serde_json::json!({"amount": 7}),
    };
    let check = order.message(queue.clone()).expect("a message").deliver_after(60 * SECOND);
    let relay = fixture.outbox.store.on(queue);
    relay.enqueue(&[check]).await;
    relay
}

async fn proceed(fixture: &StepFixture, queue: &QueueName, id: SagaId) -> SagaContinued {
    fixture.shown.continue_saga(queue.as_str(), id).await.expect("an answer")
}
