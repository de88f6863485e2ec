//! What callers do with connections of their own: a message is stored whole or not at all.

use claimstream::Compose;
use claimstream_domain::{
    DedupKey,
    Enqueued::{Duplicate, New},
    NewMessage, QueueName,
};
use claimstream_ports::{Enqueue, StoreErrorKind};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, TransactionTrait};

use crate::{Server, Stage, Suite, venue::SeaOrmVenue};

/// Adds what is said about callers' connections to SQLite and to every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    suite.add_async_trial("sqlite::callers::a_connection_without_a_transaction_is_refused", async {
        let venue = SeaOrmVenue::sqlite("auto");
        a_connection_without_a_transaction_is_refused(&Scene::of(&venue).await).await;
    });
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let name = |what: &str| format!("{}::callers::{what}", server.name);
        let (refused, failed) = (url.clone(), url);
        suite.add_async_trial(&name("a_connection_without_a_transaction_is_refused"), async move {
            let venue = SeaOrmVenue::server(server.name, &refused, "auto");
            let scene = Scene::of(&venue).await;
            a_connection_without_a_transaction_is_refused(&scene).await;
            a_sqlx_connection_without_a_transaction_is_refused(&scene).await;
        });
        suite.add_async_trial(&name("a_call_that_failed_has_written_nothing"), async move {
            let venue = SeaOrmVenue::server(server.name, &failed, "auto");
            a_call_that_failed_has_written_nothing(&Scene::of(&venue).await).await;
        });
    }
}

/// An outbox and a plain pool of a caller's on one database.
struct Scene {
    outbox: SeaOrmOutbox,
    plain: DatabaseConnection,
    queue: QueueName,
}

impl Scene {
    async fn of(venue: &SeaOrmVenue) -> Self {
        let url = venue.fresh_database().await.expect("a database");
        let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
        Self { outbox, plain: Database::connect(&url).await.expect("connect"), queue: Stage::fresh_queue() }
    }

    fn message(&self) -> NewMessage {
        NewMessage::json(self.queue.clone(), &7).expect("a message")
    }
}

async fn a_connection_without_a_transaction_is_refused(scene: &Scene) {
    let message = [scene.message()];
    let error = scene.outbox.enqueue_on(&scene.plain, &message).await.expect_err("no transaction");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
    assert_eq!(scene.outbox.enqueue(&scene.plain, &message).await.expect("its own transaction"), [New]);
    let tx = scene.plain.begin().await.expect("begin");
    assert_eq!(scene.outbox.enqueue_on(&tx, &message).await.expect("in a transaction"), [Duplicate]);
    assert_eq!(scene.outbox.enqueue_on(&tx, &[scene.message()]).await.expect("in a transaction"), [New]);
    let nested = tx.begin().await.expect("begin");
    assert_eq!(scene.outbox.enqueue_on(&nested, &[scene.message()]).await.expect("in a nested one"), [New]);
    nested.rollback().await.expect("roll back");
    tx.commit().await.expect("commit");
    assert_eq!(scene.outbox.enqueue_now(&message).await.expect("again"), [Duplicate]);
    assert_eq!(depth(scene).await, 2);
}

async fn a_sqlx_connection_without_a_transaction_is_refused(scene: &Scene) {
    use sea_orm::sqlx::Connection;
    let pool = scene.plain.get_mysql_connection_pool();
    let mut connection = pool.acquire().await.expect("a connection");
    let message = [scene.message()];
    let error = scene.outbox.enqueue_sqlx(&mut connection, &message).await.expect_err("no transaction");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
    let mut tx = connection.begin().await.expect("begin");
    assert_eq!(scene.outbox.enqueue_sqlx(&mut tx, &message).await.expect("in a transaction"), [New]);
    tx.commit().await.expect("commit");
    assert_eq!(depth(scene).await, 3);
}

/// The caller commits what is left of its transaction after a lock wait that ran out.
async fn a_call_that_failed_has_written_nothing(scene: &Scene) {
    let unique = || scene.message().unique_by(DedupKey::new("order-1").expect("a key"));
    let holder = scene.outbox.begin().await.expect("begin");
    scene.outbox.enqueue(&holder, &[unique()]).await.expect("enqueue");
    let tx = scene.plain.begin().await.expect("begin");
    tx.execute_unprepared("SET SESSION innodb_lock_wait_timeout = 1").await.expect("a shorter wait");
    let call = [scene.message(), unique()];
    let error = scene.outbox.enqueue(&tx, &call).await.expect_err("the key is held");
    assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
    tx.commit().await.expect("commit");
    holder.rollback().await.expect("roll back");
    assert_eq!(scene.outbox.enqueue_now(&call).await.expect("again"), [New, New]);
    assert_eq!(depth(scene).await, 2);
}

async fn depth(scene: &Scene) -> u64 {
    use claimstream_ports::Observe;
    let all = scene.outbox.observe().await.expect("observe");
    all.into_iter().find(|status| status.queue == scene.queue).map_or(0, |status| status.depth)
}
