use std::time::Duration;

use claimstream_domain::{
    DeadLetterFilter, DedupKey,
    Enqueued::{Duplicate, New},
    Retention, Settled,
};

use super::{Place, Scene, hex};
use crate::{LEASE, Suite, ids};

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let delete = Retention::DELETE;
    let what = "delete_takes_the_body_of_what_is_finished_and_of_nothing_else";
    place.add(suite, "auto", delete, what, takes_what_is_finished);
    place.add(suite, "shard_lease", delete, &format!("{what}_under_shard_lease"), takes_what_is_finished);
    let what = "delete_leaves_what_a_lost_claim_acked";
    place.add(suite, "auto", delete, what, leaves_what_a_lost_claim_acked);
    place.add(
        suite,
        "shard_lease",
        delete,
        &format!("{what}_under_shard_lease"),
        leaves_what_a_lost_claim_acked,
    );
    let what = "delete_leaves_an_id_that_is_in_use_again";
    place.add(suite, "auto", delete, what, leaves_an_id_that_is_in_use_again);
    let what = "delete_forgets_ids_with_their_bodies_and_keys_after_a_day";
    place.add(suite, "auto", delete, what, forgets_ids_at_once_and_keys_after_a_day);
    let what = "delete_finds_after_an_hour_what_a_crash_forgot";
    place.add(suite, "auto", delete, what, finds_what_a_crash_forgot);
}

async fn takes_what_is_finished(scene: Scene) {
    let messages: Vec<_> = (0..5).map(|_| scene.message()).collect();
    scene.enqueue(&messages).await;
    scene.enqueue(&[scene.message().deliver_after(Duration::from_secs(60))]).await;
    scene.clock.advance(Scene::MOMENT);
    let claimed = scene.instance.take(5).await;
    scene.instance.ack(&claimed[0]).await;
    scene.instance.ack(&claimed[1]).await;
    scene.instance.nack(&claimed[2], Duration::from_secs(60), "later").await;
    scene.instance.bury(&claimed[3], "never").await;
    scene.instance.release(&claimed[4]).await;
    assert_eq!(scene.sweep().await, 2);
    assert_eq!(scene.sweep().await, 0, "once is enough");
    scene.instance.revive(&DeadLetterFilter::default()).await;
    scene.clock.advance(Duration::from_secs(61));
    let left = scene.instance.take_all().await;
    assert_eq!(left.len(), 4, "put off, revived, given back and not due before");
    assert!(ids(&left).iter().all(|id| ![claimed[0].message.id, claimed[1].message.id].contains(id)));
}

async fn leaves_what_a_lost_claim_acked(scene: Scene) {
    scene.enqueue(&[scene.message()]).await;
    let lost = scene.instance.take_one().await;
    scene.clock.advance(LEASE * 2);
    let rival = scene.again(|_| {}).await;
    let held = rival.instance.take_one().await;
    assert_eq!(scene.instance.ack(&lost).await, Settled::Superseded);
    assert_eq!(scene.sweep().await, 0, "its message is live");
    assert_eq!(rival.instance.ack(&held).await, Settled::Accepted);
    assert_eq!(rival.sweep().await, 1);
}

/// Somebody else's sweep has deleted the body, and the id was enqueued again before ours came.
async fn leaves_an_id_that_is_in_use_again(scene: Scene) {
    let message = [scene.message()];
    scene.enqueue(&message).await;
    scene.clock.advance(Scene::MOMENT);
    scene.finish_all().await;
    scene.execute(&format!("DELETE FROM claimstream_message WHERE id = {}", hex(message[0].id.uuid()))).await;
    scene.clock.advance(Scene::MOMENT);
    assert_eq!(scene.outbox.enqueue_now(&message).await.expect("enqueue"), [New]);
    scene.clock.advance(Scene::MOMENT);
    assert_eq!(scene.sweep().await, 0);
    assert_eq!(scene.instance.take_one().await.message.id, message[0].id);
}

async fn forgets_ids_at_once_and_keys_after_a_day(scene: Scene) {
    let keyed = || scene.message().unique_by(DedupKey::new("order-7").expect("a key"));
    let message = [keyed()];
    let enqueue = async |messages: &[_]| scene.outbox.enqueue_now(messages).await.expect("enqueue");
    enqueue(&message).await;
    scene.clock.advance(Scene::MOMENT);
    scene.finish_all().await;
    assert_eq!(enqueue(&message).await, [Duplicate], "its body is there");
    assert_eq!(scene.sweep().await, 1);
    assert_eq!(enqueue(&[keyed()]).await, [Duplicate], "the key stays");
    assert_eq!(
        enqueue(&message).await,
        [New],
        "the id does not, and a key never stands in its own message's way"
    );
    scene.finish_all().await;
    scene.clock.advance(Duration::from_secs(86_400) - Scene::MOMENT);
    scene.sweep().await;
    assert_eq!(enqueue(&[keyed()]).await, [Duplicate]);
    scene.clock.advance(Scene::MOMENT);
    scene.sweep().await;
    assert_eq!(enqueue(&[keyed()]).await, [New]);
}

async fn finds_what_a_crash_forgot(scene: Scene) {
    scene.enqueue(&[scene.message()]).await;
    scene.clock.advance(Scene::MOMENT);
    scene.finish_all().await;
    let after = scene.again(|_| {}).await;
    scene.clock.advance(Retention::SHORTEST - Scene::MOMENT);
    assert_eq!(after.sweep().await, 0, "not a moment too early");
    scene.clock.advance(Scene::MOMENT);
    assert_eq!(after.sweep().await, 1);
}
