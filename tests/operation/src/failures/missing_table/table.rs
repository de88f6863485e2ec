use crate::{Fixture, backend::SeaOrmBackend};
use claimstream::Compose;
use claimstream_domain::{NewMessage, QueueName};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_testbed::eventually;
use sea_orm::ConnectionTrait;

pub(super) async fn open(backend: &SeaOrmBackend) -> (SeaOrmOutbox, QueueName) {
    let url = backend.database().await.expect("a database");
    (backend.open(&url, None).await.expect("open"), Fixture::fresh_queue())
}

pub(super) async fn send(outbox: &SeaOrmOutbox, queue: &QueueName) {
    let message = NewMessage::json(queue.clone(), &7).expect("a message");
    outbox.enqueue_now(&[message]).await.expect("enqueue");
}

pub(super) async fn rename(outbox: &SeaOrmOutbox, from: &str, to: &str) {
    let rename = format!("ALTER TABLE {from} RENAME TO {to}");
    outbox.connection().execute_unprepared(&rename).await.expect("a table renamed");
}

pub(super) async fn until(what: &str, is_so: impl Fn() -> bool) {
    eventually(what, || async { is_so() }).await;
}
