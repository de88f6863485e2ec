//! What callers do with connections of their own: a message is stored whole or not at all.

mod elsewhere;
mod ended;
mod given;

use claimstream::Compose;
use claimstream_domain::{
    DedupKey,
    Enqueued::{Duplicate, New},
    NewMessage, QueueName,
};
use claimstream_ports::{Enqueue, StoreErrorKind};
use claimstream_sea_orm::{Dialect, OpenOptions, SeaOrmOutbox};
use futures::future::BoxFuture;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, TransactionTrait};

use self::{
    elsewhere::{
        a_connection_to_another_database_is_refused, a_queue_that_nobody_reads_is_reported,
        messages_in_unknown_shards_are_reported,
    },
    ended::{
        a_commit_after_a_swallowed_deadlock_is_refused, a_connection_without_autocommit_is_refused,
        a_step_after_a_swallowed_deadlock_is_refused, an_enqueue_after_a_conflict_that_rolls_back_is_refused,
        an_enqueue_after_a_swallowed_deadlock_is_refused, an_enqueue_after_an_implicit_commit_is_refused,
        an_enqueue_does_not_begin_the_callers_snapshot,
        an_enqueue_long_after_a_swallowed_deadlock_is_refused,
        an_enqueue_takes_as_many_round_trips_as_its_statements,
        an_enqueue_that_met_a_deadlock_says_that_the_transaction_is_gone,
    },
    given::{
        a_pool_in_memory_is_refused, a_pool_that_does_not_fit_is_refused,
        a_pool_that_does_not_roll_back_is_refused, a_pool_that_is_handed_in_is_the_callers,
    },
};
use crate::{Server, Stage, Suite, backend::SeaOrmVenue};

/// Adds what is said about callers' connections to SQLite and to every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    let rolled_back = "sqlite::callers::an_enqueue_after_a_conflict_that_rolls_back_is_refused";
    suite.add_async_trial(rolled_back, async {
        let venue = SeaOrmVenue::sqlite("auto");
        an_enqueue_after_a_conflict_that_rolls_back_is_refused(&Scene::of(&venue).await).await;
    });
    suite.add_async_trial("sqlite::callers::a_pool_in_memory_is_refused", a_pool_in_memory_is_refused());
    add_everywhere(suite, "sqlite", || SeaOrmVenue::sqlite("auto"));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let venue = move || SeaOrmVenue::server(server.name, &url, "auto");
        let unfit = venue.clone();
        suite.add_async_trial(
            &format!("{}::callers::a_pool_that_does_not_fit_is_refused", server.name),
            async move {
                let venue = unfit();
                let (scene, url) = Scene::at(&venue).await;
                a_pool_that_does_not_fit_is_refused(&scene, &url, &venue).await;
            },
        );
        add_everywhere(suite, server.name, venue.clone());
        for (what, trial) in on_servers() {
            let venue = venue.clone();
            suite.add_async_trial(&format!("{}::callers::{what}", server.name), async move {
                let venue = venue();
                trial(&Scene::of(&venue).await).await;
            });
        }
    }
}

/// What is said of one scene.
type Trial = for<'a> fn(&'a Scene) -> BoxFuture<'a, ()>;

macro_rules! trials {
    ($($name:ident),* $(,)?) => {
        vec![$((stringify!($name), (|scene| Box::pin($name(scene))) as Trial)),*]
    };
}

fn add_everywhere(suite: &mut Suite, store: &str, venue: impl Fn() -> SeaOrmVenue + Clone + Send + 'static) {
    let there = venue.clone();
    suite.add_async_trial(
        &format!("{store}::callers::a_connection_to_another_database_is_refused"),
        async move {
            let venue = there();
            let scene = Scene::of(&venue).await;
            a_connection_to_another_database_is_refused(&scene, &venue).await;
        },
    );
    let (handed_in, leaks) = (venue.clone(), venue.clone());
    suite.add_async_trial(
        &format!("{store}::callers::a_pool_that_is_handed_in_is_the_callers"),
        async move {
            let venue = handed_in();
            let (scene, url) = Scene::at(&venue).await;
            a_pool_that_is_handed_in_is_the_callers(&scene, &url).await;
        },
    );
    suite.add_async_trial(
        &format!("{store}::callers::a_pool_that_does_not_roll_back_is_refused"),
        async move {
            let venue = leaks();
            let (scene, url) = Scene::at(&venue).await;
            a_pool_that_does_not_roll_back_is_refused(&scene, &url).await;
        },
    );
    let trials = trials![
        a_connection_without_a_transaction_is_refused,
        messages_in_unknown_shards_are_reported,
        a_queue_that_nobody_reads_is_reported,
    ];
    for (what, trial) in trials {
        let venue = venue.clone();
        suite.add_async_trial(&format!("{store}::callers::{what}"), async move {
            let venue = venue();
            trial(&Scene::of(&venue).await).await;
        });
    }
}

fn on_servers() -> Vec<(&'static str, Trial)> {
    trials![
        a_call_that_failed_has_written_nothing,
        an_enqueue_after_a_swallowed_deadlock_is_refused,
        an_enqueue_that_met_a_deadlock_says_that_the_transaction_is_gone,
        an_enqueue_long_after_a_swallowed_deadlock_is_refused,
        an_enqueue_after_an_implicit_commit_is_refused,
        a_commit_after_a_swallowed_deadlock_is_refused,
        a_step_after_a_swallowed_deadlock_is_refused,
        a_connection_without_autocommit_is_refused,
        an_enqueue_takes_as_many_round_trips_as_its_statements,
        an_enqueue_does_not_begin_the_callers_snapshot,
    ]
}

/// An outbox and a plain pool of a caller's on one database.
struct Scene {
    outbox: SeaOrmOutbox,
    plain: DatabaseConnection,
    queue: QueueName,
}

impl Scene {
    async fn of(venue: &SeaOrmVenue) -> Self {
        Self::at(venue).await.0
    }

    /// The scene and its database's URL.
    async fn at(venue: &SeaOrmVenue) -> (Self, String) {
        let url = venue.fresh_database().await.expect("a database");
        let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
        let plain = Database::connect(&url).await.expect("connect");
        (Self { outbox, plain, queue: Stage::fresh_queue() }, url)
    }

    fn message(&self) -> NewMessage {
        NewMessage::json(self.queue.clone(), &7).expect("a message")
    }
}

async fn a_connection_without_a_transaction_is_refused(scene: &Scene) {
    let message = [scene.message()];
    let error = scene.outbox.enqueue_on(&scene.plain, &message).await.expect_err("no transaction");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
    assert_eq!(scene.outbox.enqueue_now(&message).await.expect("its own transaction"), [New]);
    let tx = scene.plain.begin().await.expect("begin");
    assert_eq!(scene.outbox.enqueue_on(&tx, &message).await.expect("in a transaction"), [Duplicate]);
    assert_eq!(scene.outbox.enqueue_on(&tx, &[scene.message()]).await.expect("in a transaction"), [New]);
    let nested = tx.begin().await.expect("begin");
    assert_eq!(scene.outbox.enqueue_on(&nested, &[scene.message()]).await.expect("in a nested one"), [New]);
    nested.rollback().await.expect("roll back");
    tx.commit().await.expect("commit");
    assert_eq!(scene.outbox.enqueue_now(&message).await.expect("again"), [Duplicate]);
    assert_eq!(depth(scene).await, 2);
    match scene.outbox.dialect() {
        Dialect::MySql => a_sqlx_connection_without_a_transaction_is_refused(scene).await,
        Dialect::Sqlite => a_sqlx_connection_to_sqlite_without_a_transaction_is_refused(scene).await,
    }
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

async fn a_sqlx_connection_to_sqlite_without_a_transaction_is_refused(scene: &Scene) {
    use sea_orm::sqlx::Connection;
    let mut connection = scene.plain.get_sqlite_connection_pool().acquire().await.expect("a connection");
    let message = [scene.message()];
    let error =
        scene.outbox.enqueue_sqlx_sqlite(&mut connection, &message).await.expect_err("no transaction");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
    let mut tx = connection.begin_with("BEGIN IMMEDIATE").await.expect("begin");
    assert_eq!(scene.outbox.enqueue_sqlx_sqlite(&mut tx, &message).await.expect("in a transaction"), [New]);
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
