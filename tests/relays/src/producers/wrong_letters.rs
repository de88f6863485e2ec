//! Promise: no dead letter that another program spoiled keeps others from being listed, counted and revived

use claimstream::Compose;
use claimstream_domain::{DeadLetterFilter, NewMessage, QueueName};
use claimstream_ports::{DeadLetters, Observe};
use claimstream_sea_orm::Dialect;
use sea_orm::{ConnectionTrait, Database};

use super::Shop;
use crate::{Suite, backend::SeaOrmBackend};

pub(super) fn add_to(suite: &mut Suite, store: &str, backend: SeaOrmBackend) {
    let name = format!("{store}::producers::no_wrong_dead_letter_ends_a_list");
    // Guard: a dead letter that cannot be read is left out of lists | adapters/sea-orm/src/dead_letters/listing.rs
    // `read`: such a row is an error
    // Guard: dead letters under an impossible queue name are counted apart | adapters/sea-orm/src/queues/observe.rs
    // `observe`: such a row is an error
    suite.add_async_test(&name, async move { ends_no_list(&backend).await });
}

/// How letters are spoiled; a server refuses some of it.
const WRONG: [&str; 9] = [
    "queue = x'ff'",
    "queue = 'no such queue'",
    "queue = CAST(queue AS BLOB)",
    "reason = x'ff'",
    "attempts = 'many'",
    "attempts = -1",
    "died_at = '0000-00-00'",
    "died_at = 'soon'",
    "died_at = -1",
];

async fn ends_no_list(backend: &SeaOrmBackend) {
    let shop = Shop::open(backend, backend.options()).await;
    let mode = if shop.outbox.dialect() == Dialect::MySql { "SET SESSION sql_mode = '';" } else { "" };
    let program = Database::connect(&shop.url).await.expect("a connection");
    let all = DeadLetterFilter::default();
    for wrong in WRONG {
        let instance = shop.instance.on(&crate::Fixture::fresh_queue());
        let message = |n: u32| NewMessage::json(instance.queue().clone(), &n).expect("a message");
        instance.enqueue(&[message(1), message(2)]).await;
        let claimed = instance.take_all().await;
        let [right, spoiled] = [0, 1].map(|at: usize| claimed[at].message.id);
        for claimed in &claimed {
            instance.bury(claimed, "never").await;
        }
        let id = spoiled.uuid().simple();
        let update = format!("{mode} UPDATE claimstream_dead SET {wrong} WHERE id = x'{id}'");
        if program.execute_unprepared(&update).await.is_err() {
            assert!(!mode.is_empty(), "{wrong}: SQLite refuses nothing");
        }
        let listed = shop.outbox.list(&all, 1_000).await.expect(wrong);
        assert!(listed.iter().any(|letter| letter.message.id == right), "{wrong}");
        let of_queue = DeadLetterFilter { queue: Some(instance.queue().clone()), ..all.clone() };
        let listed = shop.outbox.list(&of_queue, 1_000).await.expect(wrong);
        assert!(listed.iter().any(|letter| letter.message.id == right), "{wrong}");
        assert!(shop.outbox.count(&all, 1_000).await.expect(wrong) >= 1, "{wrong}");
        shop.outbox.groups(&all, 1_000).await.expect(wrong);
        let observed = shop.outbox.observe().await.expect(wrong);
        let is_ours = |name: &QueueName| name == instance.queue();
        assert!(observed.iter().any(|queue| is_ours(&queue.queue) && queue.dead >= 1), "{wrong}");
        assert!(shop.outbox.revive(&of_queue).await.expect(wrong) >= 1, "{wrong}");
        let back: Vec<_> = instance.take_all().await.into_iter().map(|claimed| claimed.message.id).collect();
        assert!(back.contains(&right), "{wrong}");
    }
    program.close().await.expect("a close");
    let findings = shop.outbox.doctor().await.expect("findings");
    let is_named = findings.iter().any(|one| one.detail.contains("in claimstream_dead under the name"));
    assert!(is_named, "{findings:?}");
}
