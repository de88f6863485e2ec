//! Promise: second entries of messages give no message to two handlers under `shard_lease`

use std::collections::BTreeSet;

use claimstream::Compose;
use claimstream_domain::{NewMessage, ShardCount};
use claimstream_sea_orm::Dialect;
use sea_orm::ConnectionTrait;

use super::Shop;
use crate::{LEASE, Suite, backend::SeaOrmBackend};

pub(super) fn add_to(suite: &mut Suite, store: &str, backend: SeaOrmBackend) {
    let name = format!("{store}::shard_lease::producers::twins_hide_no_message_that_is_in_flight");
    // Guard: a page of due messages is full by its rows, twins too |
    // adapters/sea-orm/src/strategy/shard_lease/claim/place.rs `judge`: `due.seen.len()`; the same in `read.rs` `page`
    suite.add_async_test(&name, async move { hide_no_message(&backend).await });
}

/// A page that is full with second entries ends before the message in flight, which is still there.
async fn hide_no_message(backend: &SeaOrmBackend) {
    let mut options = backend.options();
    options.shards = ShardCount::new(1).expect("a count");
    let shop = Shop::open(backend, options).await;
    let queue = crate::Fixture::fresh_queue();
    let messages = |count: usize| -> Vec<NewMessage> {
        (0..count).map(|n| NewMessage::json(queue.clone(), &n).expect("a message")).collect()
    };
    let enqueue = async |messages: &[NewMessage]| shop.outbox.enqueue_now(messages).await.expect("enqueue");
    let instance = shop.instance.on(&queue);
    let [in_flight] = &messages(1)[..] else { unreachable!("one message") };
    enqueue(std::slice::from_ref(in_flight)).await;
    let held = instance.ports.claiming.claim(&instance.request(1, LEASE)).await.expect("a claim");
    assert_eq!(held.len(), 1);
    let older = messages(300);
    enqueue(&older).await;
    // Each has its second entry right behind it, and all of them lie before the message in flight.
    let earlier = |seconds: usize| match shop.outbox.dialect() {
        Dialect::MySql => format!("available_at - INTERVAL {seconds} SECOND"),
        Dialect::Sqlite => format!("available_at - {seconds} * 1000000"),
    };
    let ids = older.iter().map(|message| message.id.uuid().simple());
    let moved = ids.enumerate().map(|(n, id)| {
        let due = earlier(3_600 + 2 * n);
        format!("UPDATE claimstream_queue SET available_at = {due} WHERE id = x'{id}';")
    });
    for statement in [
        moved.collect::<String>(),
        format!(
            "CREATE TABLE twins AS SELECT * FROM claimstream_queue WHERE id <> x'{}'",
            in_flight.id.uuid().simple()
        ),
        format!("UPDATE twins SET available_at = {}", earlier(1)),
        "INSERT INTO claimstream_queue SELECT * FROM twins".to_owned(),
        "DROP TABLE twins".to_owned(),
    ] {
        shop.outbox.connection().execute_unprepared(&statement).await.expect("a statement");
    }
    let mut got = BTreeSet::new();
    loop {
        let claimed = instance.ports.claiming.claim(&instance.request(20, LEASE)).await.expect("a claim");
        if claimed.is_empty() {
            break;
        }
        for claimed in claimed {
            assert_ne!(claimed.message.id, in_flight.id, "it is in flight");
            instance.ack(&claimed).await;
            got.insert(claimed.message.id);
        }
    }
    assert!(older.iter().all(|message| got.contains(&message.id)), "{} of 300", got.len());
}
