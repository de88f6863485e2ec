use claimstream_domain::{
    DeadLetterFilter, DedupKey,
    Enqueued::{Duplicate, New},
    MessageId, NewMessage, Payload, Retention, Settled,
};

use super::{Place, Scene, hex, keep};
use crate::{LEASE, Suite, ids};

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let strategies: &[_] = match place.name {
        "sqlite" => &["preemptive_update", "shard_lease"],
        _ => &["auto", "preemptive_update", "shard_lease"],
    };
    for strategy in strategies {
        let named = |what: &str| format!("{what}_under_{strategy}");
        let what = named("an_id_and_its_key_are_taken_as_long_as_the_dead_letter_is_there");
        place.add(suite, strategy, keep(), &what, is_taken);
        let what = named("a_dead_letter_that_has_lost_its_body_gets_it_back");
        place.add(suite, strategy, keep(), &what, gets_its_body_back);
        let what = named("a_letter_is_revived_beside_another_message_of_its_id");
        place.add(suite, strategy, keep(), &what, is_revived_beside_another);
        let what = named("a_message_is_buried_beside_a_letter_of_its_id");
        place.add(suite, strategy, keep(), &what, is_buried_beside_another);
        let what = named("two_entries_of_one_message_hold_nothing_up");
        place.add(suite, strategy, keep(), &what, hold_nothing_up);
    }
}

async fn is_taken(scene: Scene) {
    let message = [scene.message().unique_by(key())];
    let enqueue = async |messages: &[NewMessage]| scene.outbox.enqueue_now(messages).await.expect("enqueue");
    enqueue(&message).await;
    bury_the_one(&scene, "no").await;
    scene.clock.advance(Retention::SHORTEST * 2);
    assert_eq!(scene.sweep().await, 0);
    assert_eq!(enqueue(&message).await, [Duplicate], "it may be revived");
    assert_eq!(enqueue(&[scene.message().unique_by(key())]).await, [Duplicate]);
    assert_eq!(scene.instance.revive(&DeadLetterFilter::default()).await, 1);
    scene.finish_all().await;
    scene.clock.advance(Retention::SHORTEST + Scene::MOMENT);
    assert_eq!(scene.sweep().await, 1);
    assert_eq!(enqueue(&message).await, [New]);
    bury_the_one(&scene, "no").await;
    scene.instance.purge(&DeadLetterFilter::default()).await;
    assert_eq!(enqueue(&message).await, [Duplicate], "its body is there");
    scene.clock.advance(Retention::SHORTEST + Scene::MOMENT);
    assert_eq!(scene.sweep().await, 1);
    assert_eq!(enqueue(&message).await, [New]);
}

async fn gets_its_body_back(scene: Scene) {
    let message = dead_without_a_body(&scene).await;
    assert_eq!(scene.sweep().await, 0);
    assert_eq!(scene.outbox.enqueue_now(&[message]).await.expect("enqueue"), [Duplicate]);
    scene.instance.revive(&DeadLetterFilter::default()).await;
    assert_eq!(scene.instance.take_one().await.message.payload, payload("first"));
}

/// A sweep of an older version has taken the body, and the id was enqueued again.
async fn is_revived_beside_another(scene: Scene) {
    let first = dead_without_a_body(&scene).await;
    let second = NewMessage { payload: payload("second"), ..first.clone() };
    assert_eq!(scene.outbox.enqueue_now(&[second]).await.expect("enqueue"), [New]);
    let others: Vec<_> = (0..20).map(|_| scene.message()).collect();
    scene.enqueue(&others).await;
    assert_eq!(scene.instance.revive(&DeadLetterFilter::default()).await, 1);
    let claimed = scene.instance.take_all().await;
    assert_eq!(distinct(&ids(&claimed)), 22);
    let is = |text: &str| claimed.iter().find(|c| c.message.payload == payload(text)).expect("is there");
    assert_eq!(is("second").message.id, first.id, "it has the id now");
    assert_eq!(is("first").attempt, 1);
    let _ = scene.instance.bury(is("first"), "again").await;
    scene.clock.advance(Scene::MOMENT);
    assert_eq!(
        scene.instance.revive(&DeadLetterFilter::default()).await,
        1,
        "under its new id, as any other"
    );
    assert_eq!(scene.instance.dead().await, []);
    for claimed in claimed.iter().filter(|claimed| claimed.message.id != is("first").message.id) {
        assert_eq!(scene.instance.ack(claimed).await, Settled::Accepted);
    }
    scene.finish_all().await;
    assert_eq!(scene.instance.status().await, None);
}

async fn is_buried_beside_another(scene: Scene) {
    let first = dead_without_a_body(&scene).await;
    let second = NewMessage { payload: payload("second"), ..first.clone() };
    scene.enqueue(&[second, scene.message()]).await;
    let claimed = scene.instance.take_all().await;
    assert_eq!(claimed.len(), 2);
    for claimed in &claimed {
        assert_eq!(scene.instance.bury(claimed, "no").await, Settled::Accepted);
    }
    let dead = scene.instance.dead().await;
    assert_eq!(dead.len(), 3, "nothing is lost");
    let of = |text: &str| dead.iter().find(|dead| dead.message.payload == payload(text)).expect("is there");
    assert_eq!(of("second").message.id, first.id);
    assert_ne!(of("first").message.id, first.id);
    scene.clock.advance(LEASE * 2);
    scene.instance.finds_nothing().await;
    assert_eq!(scene.instance.revive(&DeadLetterFilter::default()).await, 3);
    assert_eq!(distinct(&ids(&scene.instance.take_all().await)), 3);
}

/// A revival of an older version has made a second entry beside that of another message with the same id.
async fn hold_nothing_up(scene: Scene) {
    let twice = scene.message();
    scene.enqueue(std::slice::from_ref(&twice)).await;
    scene.clock.advance(Scene::MOMENT);
    let others: Vec<_> = (0..20).map(|_| scene.message()).collect();
    scene.enqueue(&others).await;
    let (one, other) = (hex(twice.id.uuid()), hex(others[0].id.uuid()));
    scene
        .execute(&format!(
            "INSERT INTO claimstream_queue (queue, shard, available_at, id) \
             SELECT q.queue, q.shard, o.available_at, q.id FROM claimstream_queue q, claimstream_queue o \
             WHERE q.id = {one} AND o.id = {other}"
        ))
        .await;
    scene.clock.advance(Scene::MOMENT);
    let claimed = scene.instance.take_all().await;
    assert_eq!((claimed.len(), distinct(&ids(&claimed))), (21, 21));
    for claimed in &claimed {
        assert_eq!(scene.instance.ack(claimed).await, Settled::Accepted);
    }
    scene.clock.advance(LEASE * 2);
    scene.instance.finds_nothing().await;
    assert_eq!(scene.instance.status().await, None);
}

/// A dead letter whose body is gone, as older versions left them after a while.
async fn dead_without_a_body(scene: &Scene) -> NewMessage {
    let message = NewMessage { payload: payload("first"), ..scene.message() };
    scene.enqueue(std::slice::from_ref(&message)).await;
    bury_the_one(scene, "no").await;
    scene.execute(&format!("DELETE FROM claimstream_message WHERE id = {}", hex(message.id.uuid()))).await;
    scene.clock.advance(Retention::SHORTEST * 2);
    message
}

async fn bury_the_one(scene: &Scene, reason: &str) {
    let claimed = scene.instance.take_one().await;
    assert_eq!(scene.instance.bury(&claimed, reason).await, Settled::Accepted);
    scene.clock.advance(Scene::MOMENT);
}

fn payload(text: &str) -> Payload {
    Payload::new("text/plain", text.as_bytes().to_vec()).expect("a payload")
}

fn key() -> DedupKey {
    DedupKey::new("order-7").expect("a key")
}

fn distinct(ids: &[MessageId]) -> usize {
    ids.iter().collect::<std::collections::HashSet<_>>().len()
}
