//! The view `claimstream_outbox`, which shows the outbox under the names of the texts that it is made after.
//! Promise: the view `claimstream_outbox` shows the state of each message, under every strategy

use std::{collections::HashMap, time::Duration};

use claimstream::Compose;
use claimstream_domain::{MessageId, NewMessage, Settled};
use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::{ConnectionTrait, Statement};
use uuid::Uuid;

use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds the test on SQLite and on every server that is here, with strategies that claim in different ways.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for strategy in ["preemptive_update", "shard_lease"] {
        add(suite, "sqlite", strategy, SeaOrmBackend::sqlite(strategy));
        for server in Server::ALL {
            let Some(url) = server.url(&environment) else { continue };
            add(suite, server.name, strategy, SeaOrmBackend::server(server.name, &url, strategy));
        }
    }
}

fn add(suite: &mut Suite, store: &str, strategy: &str, backend: SeaOrmBackend) {
    // Guard: the view shows messages in flight under `shard_lease` |
    // adapters/sea-orm/src/sql/tables/shard_lease_1.mysql.sql: no lease is joined; the same in shard_lease_1.sqlite.sql
    let name = format!("{store}::{strategy}::outbox_view::it_shows_where_each_message_stands");
    suite.add_async_test(&name, async move { shows_where_each_message_stands(&backend).await });
}

/// A row of the view: status, retry_count, lock_owner, last_error, and whether next_retry_time, lock_until, created_at and
/// updated_at are known.
type Shown = (String, i64, Option<String>, Option<String>, [bool; 4]);

async fn shows_where_each_message_stands(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let store = backend.open(&url, None).await.expect("open");
    let instance = Instance::new(7, Ports::of(store.clone()), Fixture::fresh_queue(), 10);
    let message = |n| NewMessage::json(instance.queue().clone(), &n).expect("a message");
    let (flown, failed, given_up) = (message(1), message(2), message(3));
    let ids = [flown.id, failed.id, given_up.id];
    store.enqueue_now(&[flown, failed, given_up]).await.expect("enqueue");
    let claimed = instance.take_all().await;
    let of = |id| claimed.iter().find(|claimed| claimed.message.id == id).expect("it was claimed");
    assert_eq!(instance.nack(of(ids[1]), HOUR, "later").await, Settled::Accepted);
    assert_eq!(instance.bury(of(ids[2]), "never").await, Settled::Accepted);
    let waiting = message(4).deliver_after(HOUR);
    store.enqueue_now(std::slice::from_ref(&waiting)).await.expect("enqueue");

    let shown = shown(&store).await;
    let text = |text: &str| Some(text.to_owned());
    let is = |id, status: &str, expected: (i64, Option<String>, Option<String>, [bool; 4])| {
        let (retries, owner, error, known) = expected;
        assert_eq!(shown[&id], (status.to_owned(), retries, owner, error, known));
    };
    is(waiting.id, "NEW", (0, None, None, [true, false, true, true]));
    is(ids[0], "PROCESSING", (1, text("instance-7"), None, [false, true, true, false]));
    is(ids[1], "FAILED", (1, None, text("later"), [true, false, true, false]));
    is(ids[2], "DEAD", (1, None, text("never"), [false, false, true, true]));
    assert_eq!(shown.len(), 4);
    assert_eq!(instance.ack(of(ids[0])).await, Settled::Accepted);
    assert!(!self::shown(&store).await.contains_key(&ids[0]));
}

const HOUR: Duration = Duration::from_secs(3600);

/// Every column is asked for by its name.
async fn shown(store: &SeaOrmOutbox) -> HashMap<MessageId, Shown> {
    let sql = "SELECT id, status, CAST(retry_count AS SIGNED) AS retry_count, lock_owner, last_error, \
                      next_retry_time IS NOT NULL AS a, lock_until IS NOT NULL AS b, created_at IS NOT NULL AS c, \
                      updated_at IS NOT NULL AS d, outbox_id, topic, shard_id, sharding_key, lock_time, payload \
                 FROM claimstream_outbox";
    let db = store.connection();
    let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await.expect("rows");
    let shown = rows.iter().map(|row| {
        let id: Vec<u8> = row.try_get_by_index(0).expect("an id");
        let text = |n| row.try_get_by_index::<Option<String>>(n).expect("a text");
        let known = [5, 6, 7, 8].map(|n| row.try_get_by_index::<i64>(n).expect("a number") != 0);
        let id = MessageId::new(Uuid::from_slice(&id).expect("an id"));
        let retries = row.try_get_by_index(2).expect("a number");
        (id, (text(1).expect("a status"), retries, text(3), text(4), known))
    });
    shown.collect()
}
