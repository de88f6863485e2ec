//! Promise: `delete` removes the bodies of accepted settlements and of nothing else

use std::time::Duration;

use claimstream_domain::{
    DeadLetterFilter, DedupKey,
    Enqueued::{Duplicate, New},
    Retention, Settled,
};

use super::{Place, Setup, hex};
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

async fn takes_what_is_finished(setup: Setup) {
    let messages: Vec<_> = (0..5).map(|_| setup.message()).collect();
    setup.enqueue(&messages).await;
    setup.enqueue(&[setup.message().deliver_after(Duration::from_secs(60))]).await;
    setup.clock.advance(Setup::MOMENT);
    let claimed = setup.instance.take(5).await;
    setup.instance.ack(&claimed[0]).await;
    setup.instance.ack(&claimed[1]).await;
    setup.instance.nack(&claimed[2], Duration::from_secs(60), "later").await;
    setup.instance.bury(&claimed[3], "never").await;
    setup.instance.release(&claimed[4]).await;
    assert_eq!(setup.sweep().await, 2);
    assert_eq!(setup.sweep().await, 0, "once is enough");
    setup.instance.revive(&DeadLetterFilter::default()).await;
    setup.clock.advance(Duration::from_secs(61));
    let left = setup.instance.take_all().await;
    assert_eq!(left.len(), 4, "put off, revived, given back and not due before");
    assert!(ids(&left).iter().all(|id| ![claimed[0].message.id, claimed[1].message.id].contains(id)));
}

async fn leaves_what_a_lost_claim_acked(setup: Setup) {
    setup.enqueue(&[setup.message()]).await;
    let lost = setup.instance.take_one().await;
    setup.clock.advance(LEASE * 2);
    let rival = setup.again(|_| {}).await;
    let held = rival.instance.take_one().await;
    assert_eq!(setup.instance.ack(&lost).await, Settled::Superseded);
    assert_eq!(setup.sweep().await, 0, "its message is live");
    assert_eq!(rival.instance.ack(&held).await, Settled::Accepted);
    assert_eq!(rival.sweep().await, 1);
}

/// Another instance's sweep has deleted the body, and the id was enqueued again before ours came.
async fn leaves_an_id_that_is_in_use_again(setup: Setup) {
    let message = [setup.message()];
    setup.enqueue(&message).await;
    setup.clock.advance(Setup::MOMENT);
    setup.finish_all().await;
    setup.execute(&format!("DELETE FROM claimstream_message WHERE id = {}", hex(message[0].id.uuid()))).await;
    setup.clock.advance(Setup::MOMENT);
    assert_eq!(setup.outbox.enqueue_now(&message).await.expect("enqueue"), [New]);
    setup.clock.advance(Setup::MOMENT);
    assert_eq!(setup.sweep().await, 0);
    assert_eq!(setup.instance.take_one().await.message.id, message[0].id);
}

async fn forgets_ids_at_once_and_keys_after_a_day(setup: Setup) {
    let keyed = || setup.message().unique_by(DedupKey::new("order-7").expect("a key"));
    let message = [keyed()];
    let enqueue = async |messages: &[_]| setup.outbox.enqueue_now(messages).await.expect("enqueue");
    enqueue(&message).await;
    setup.clock.advance(Setup::MOMENT);
    setup.finish_all().await;
    assert_eq!(enqueue(&message).await, [Duplicate], "its body is there");
    assert_eq!(setup.sweep().await, 1);
    assert_eq!(enqueue(&[keyed()]).await, [Duplicate], "the key stays");
    assert_eq!(
        enqueue(&message).await,
        [New],
        "the id does not, and a key never stands in its own message's way"
    );
    setup.finish_all().await;
    setup.clock.advance(Duration::from_secs(86_400) - Setup::MOMENT);
    setup.sweep().await;
    assert_eq!(enqueue(&[keyed()]).await, [Duplicate]);
    setup.clock.advance(Setup::MOMENT);
    setup.sweep().await;
    assert_eq!(enqueue(&[keyed()]).await, [New]);
}

async fn finds_what_a_crash_forgot(setup: Setup) {
    setup.enqueue(&[setup.message()]).await;
    setup.clock.advance(Setup::MOMENT);
    setup.finish_all().await;
    let after = setup.again(|_| {}).await;
    setup.clock.advance(Retention::SHORTEST - Setup::MOMENT);
    assert_eq!(after.sweep().await, 0, "not a moment too early");
    setup.clock.advance(Setup::MOMENT);
    assert_eq!(after.sweep().await, 1);
}
