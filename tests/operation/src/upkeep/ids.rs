//! Promise: an id belongs to one message, live or dead, and a pair from before that rule blocks nothing

use claimstream_domain::{
    DeadLetterFilter, DedupKey,
    Enqueued::{Duplicate, New},
    MessageId, NewMessage, Payload, Retention, Settled,
};

use super::{Place, Setup, hex, keep};
use crate::{LEASE, Suite, ids};

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let strategies: &[_] = match place.name {
        "sqlite" => &["preemptive_update", "shard_lease"],
        _ => &["auto", "preemptive_update", "shard_lease"],
    };
    for strategy in strategies {
        let named = |what: &str| format!("{what}_under_{strategy}");
        // Guard: a dead letter keeps its body | adapters/sea-orm/src/sweep/chunk.rs `delete_bodies`: dead
        // letters are not left out
        let what = named("an_id_and_its_key_are_taken_as_long_as_the_dead_letter_is_there");
        place.add(suite, strategy, keep(), &what, is_taken);
        // Guard: a dead letter that has lost its body gets it back | adapters/sea-orm/src/sweep/round.rs: no
        // `restore`
        let what = named("a_dead_letter_that_has_lost_its_body_gets_it_back");
        place.add(suite, strategy, keep(), &what, gets_its_body_back);
        // Guard: a dead letter whose id another message has is revived under a new one |
        // adapters/sea-orm/src/dead_letters/letters.rs `revive_page`: `others` ignored
        let what = named("a_letter_is_revived_while_another_message_has_its_id");
        place.add(suite, strategy, keep(), &what, is_revived_with_a_duplicate);
        // Guard: a dead letter makes way for a second one of its id |
        // adapters/sea-orm/src/dead_letters/letters.rs: no `Conflict` arm
        let what = named("a_message_is_buried_while_a_letter_has_its_id");
        place.add(suite, strategy, keep(), &what, is_buried_with_a_duplicate);
        // Guard: a claim unites two rows of one message | adapters/sea-orm/src/strategy/rows/claim.rs: no `unite`;
        // the same in shard_lease/claim/mod.rs
        let what = named("two_entries_of_one_message_hold_nothing_up");
        place.add(suite, strategy, keep(), &what, hold_nothing_up);
    }
}

async fn is_taken(setup: Setup) {
    let message = [setup.message().unique_by(key())];
    let enqueue = async |messages: &[NewMessage]| setup.outbox.enqueue_now(messages).await.expect("enqueue");
    enqueue(&message).await;
    bury_the_one(&setup, "no").await;
    setup.clock.advance(Retention::SHORTEST * 2);
    assert_eq!(setup.sweep().await, 0);
    assert_eq!(enqueue(&message).await, [Duplicate], "it may be revived");
    assert_eq!(enqueue(&[setup.message().unique_by(key())]).await, [Duplicate]);
    assert_eq!(setup.instance.revive(&DeadLetterFilter::default()).await, 1);
    setup.finish_all().await;
    setup.clock.advance(Retention::SHORTEST + Setup::MOMENT);
    assert_eq!(setup.sweep().await, 1);
    assert_eq!(enqueue(&message).await, [New]);
    bury_the_one(&setup, "no").await;
    setup.instance.purge(&DeadLetterFilter::default()).await;
    assert_eq!(enqueue(&message).await, [Duplicate], "its body is there");
    setup.clock.advance(Retention::SHORTEST + Setup::MOMENT);
    assert_eq!(setup.sweep().await, 1);
    assert_eq!(enqueue(&message).await, [New]);
}

async fn gets_its_body_back(setup: Setup) {
    let message = dead_without_a_body(&setup).await;
    assert_eq!(setup.sweep().await, 0);
    assert_eq!(setup.outbox.enqueue_now(&[message]).await.expect("enqueue"), [Duplicate]);
    setup.instance.revive(&DeadLetterFilter::default()).await;
    assert_eq!(setup.instance.take_one().await.message.payload, payload("first"));
}

/// A sweep of an older version has taken the body, and the id was enqueued again.
async fn is_revived_with_a_duplicate(setup: Setup) {
    let first = dead_without_a_body(&setup).await;
    let second = NewMessage { payload: payload("second"), ..first.clone() };
    assert_eq!(setup.outbox.enqueue_now(&[second]).await.expect("enqueue"), [New]);
    let others: Vec<_> = (0..20).map(|_| setup.message()).collect();
    setup.enqueue(&others).await;
    assert_eq!(setup.instance.revive(&DeadLetterFilter::default()).await, 1);
    let claimed = setup.instance.take_all().await;
    assert_eq!(distinct(&ids(&claimed)), 22);
    let is = |text: &str| claimed.iter().find(|c| c.message.payload == payload(text)).expect("is there");
    assert_eq!(is("second").message.id, first.id, "it has the id now");
    assert_eq!(is("first").attempt, 1);
    let _ = setup.instance.bury(is("first"), "again").await;
    setup.clock.advance(Setup::MOMENT);
    assert_eq!(
        setup.instance.revive(&DeadLetterFilter::default()).await,
        1,
        "under its new id, as any other"
    );
    assert_eq!(setup.instance.dead().await, []);
    for claimed in claimed.iter().filter(|claimed| claimed.message.id != is("first").message.id) {
        assert_eq!(setup.instance.ack(claimed).await, Settled::Accepted);
    }
    setup.finish_all().await;
    assert_eq!(setup.instance.status().await, None);
}

async fn is_buried_with_a_duplicate(setup: Setup) {
    let first = dead_without_a_body(&setup).await;
    let second = NewMessage { payload: payload("second"), ..first.clone() };
    setup.enqueue(&[second, setup.message()]).await;
    let claimed = setup.instance.take_all().await;
    assert_eq!(claimed.len(), 2);
    for claimed in &claimed {
        assert_eq!(setup.instance.bury(claimed, "no").await, Settled::Accepted);
    }
    let dead = setup.instance.dead().await;
    assert_eq!(dead.len(), 3, "nothing is lost");
    let of = |text: &str| dead.iter().find(|dead| dead.message.payload == payload(text)).expect("is there");
    assert_eq!(of("second").message.id, first.id);
    assert_ne!(of("first").message.id, first.id);
    setup.clock.advance(LEASE * 2);
    setup.instance.finds_nothing().await;
    assert_eq!(setup.instance.revive(&DeadLetterFilter::default()).await, 3);
    assert_eq!(distinct(&ids(&setup.instance.take_all().await)), 3);
}

/// A revival of an older version has made a second entry in addition to that of another message with the same id.
async fn hold_nothing_up(setup: Setup) {
    let twice = setup.message();
    setup.enqueue(std::slice::from_ref(&twice)).await;
    setup.clock.advance(Setup::MOMENT);
    let others: Vec<_> = (0..20).map(|_| setup.message()).collect();
    setup.enqueue(&others).await;
    let (one, other) = (hex(twice.id.uuid()), hex(others[0].id.uuid()));
    setup
        .execute(&format!(
            "INSERT INTO claimstream_queue (queue, shard, available_at, id) \
             SELECT q.queue, q.shard, o.available_at, q.id FROM claimstream_queue q, claimstream_queue o \
             WHERE q.id = {one} AND o.id = {other}"
        ))
        .await;
    setup.clock.advance(Setup::MOMENT);
    let claimed = setup.instance.take_all().await;
    assert_eq!((claimed.len(), distinct(&ids(&claimed))), (21, 21));
    for claimed in &claimed {
        assert_eq!(setup.instance.ack(claimed).await, Settled::Accepted);
    }
    setup.clock.advance(LEASE * 2);
    setup.instance.finds_nothing().await;
    assert_eq!(setup.instance.status().await, None);
}

/// A dead letter whose body is gone, as older versions left them after a while.
async fn dead_without_a_body(setup: &Setup) -> NewMessage {
    let message = NewMessage { payload: payload("first"), ..setup.message() };
    setup.enqueue(std::slice::from_ref(&message)).await;
    bury_the_one(setup, "no").await;
    setup.execute(&format!("DELETE FROM claimstream_message WHERE id = {}", hex(message.id.uuid()))).await;
    setup.clock.advance(Retention::SHORTEST * 2);
    message
}

async fn bury_the_one(setup: &Setup, reason: &str) {
    let claimed = setup.instance.take_one().await;
    assert_eq!(setup.instance.bury(&claimed, reason).await, Settled::Accepted);
    setup.clock.advance(Setup::MOMENT);
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
