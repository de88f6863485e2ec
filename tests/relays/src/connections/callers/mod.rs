//! What callers do with connections of their own: a message is stored whole or not at all.
//! Promise: a message is stored whole or not at all on a caller's connection; an enqueue is refused when its
//! transaction has ended or is on another database, and costs no round trip after the first on a connection

mod elsewhere;
mod ended;
mod given;
mod one_order;
mod own;
mod setup;
mod undone;

use claimstream_domain::{
    DedupKey,
    Enqueued::{Duplicate, New},
};
use claimstream_ports::{Enqueue, StoreErrorKind};
use claimstream_sea_orm::Dialect;
use futures::future::BoxFuture;
use sea_orm::{ConnectionTrait, TransactionTrait};

use self::{
    elsewhere::{
        a_connection_to_another_database_is_refused, a_queue_without_a_consumer_is_reported,
        messages_in_unknown_shards_are_reported, tables_that_were_made_again_are_not_those_of_before,
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
    one_order::{
        a_submission_that_waits_has_taken_nothing_that_comes_after, dedup_keys_are_reserved_in_one_order,
    },
    own::{
        a_call_that_failed_in_an_own_transaction_has_written_nothing,
        a_clean_connection_on_a_dead_link_leaves_the_pool, a_second_end_of_an_own_transaction_is_an_error,
        a_strange_own_transaction_returns_no_strange_connection,
        an_own_transaction_is_kept_whole_or_not_at_all, an_own_transaction_is_refused_long_after_a_deadlock,
        an_own_transaction_that_has_ended_is_refused, an_own_transaction_that_was_cut_short_is_not_committed,
        statements_at_once_wait_in_an_own_transaction,
    },
    setup::{Setup, depth},
    undone::{
        a_failed_call_whose_undoing_is_killed_has_written_nothing,
        a_transaction_that_ends_before_a_failed_call_is_undone_is_said_to_be_gone,
    },
};
use crate::{Server, Suite, backend::SeaOrmBackend};

/// Adds what is said about callers' connections to SQLite and to every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    let rolled_back = "sqlite::callers::an_enqueue_after_a_conflict_that_rolls_back_is_refused";
    suite.add_async_test(rolled_back, async {
        let backend = SeaOrmBackend::sqlite("auto");
        an_enqueue_after_a_conflict_that_rolls_back_is_refused(&Setup::of(&backend).await).await;
    });
    suite.add_async_test("sqlite::callers::a_pool_in_memory_is_refused", a_pool_in_memory_is_refused());
    add_everywhere(suite, "sqlite", || SeaOrmBackend::sqlite("auto"));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let backend = move || SeaOrmBackend::server(server.name, &url, "auto");
        let unfit = backend.clone();
        suite.add_async_test(
            &format!("{}::callers::a_pool_that_does_not_fit_is_refused", server.name),
            async move {
                let backend = unfit();
                let (setup, url) = Setup::at(&backend).await;
                a_pool_that_does_not_fit_is_refused(&setup, &url, &backend).await;
            },
        );
        let remade = backend.clone();
        suite.add_async_test(
            &format!("{}::callers::tables_that_were_made_again_are_not_those_of_before", server.name),
            async move { tables_that_were_made_again_are_not_those_of_before(&remade()).await },
        );
        let dead = backend.clone();
        suite.add_async_test(
            &format!("{}::callers::a_clean_connection_on_a_dead_link_leaves_the_pool", server.name),
            async move {
                let backend = dead();
                let url = backend.database().await.expect("a database");
                a_clean_connection_on_a_dead_link_leaves_the_pool(&url).await;
            },
        );
        add_everywhere(suite, server.name, backend.clone());
        for (what, test) in on_servers() {
            let backend = backend.clone();
            suite.add_async_test(&format!("{}::callers::{what}", server.name), async move {
                let backend = backend();
                test(&Setup::of(&backend).await).await;
            });
        }
    }
}

/// What is said of one setup.
type Trial = for<'a> fn(&'a Setup) -> BoxFuture<'a, ()>;

macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        vec![$((stringify!($name), (|setup| Box::pin($name(setup))) as Trial)),*]
    };
}

fn add_everywhere(
    suite: &mut Suite,
    store: &str,
    backend: impl Fn() -> SeaOrmBackend + Clone + Send + 'static,
) {
    let there = backend.clone();
    suite.add_async_test(
        &format!("{store}::callers::a_connection_to_another_database_is_refused"),
        async move {
            let backend = there();
            let setup = Setup::of(&backend).await;
            a_connection_to_another_database_is_refused(&setup, &backend).await;
        },
    );
    let (handed_in, leaks) = (backend.clone(), backend.clone());
    suite.add_async_test(&format!("{store}::callers::a_pool_that_is_handed_in_is_the_callers"), async move {
        let backend = handed_in();
        let (setup, url) = Setup::at(&backend).await;
        a_pool_that_is_handed_in_is_the_callers(&setup, &url).await;
    });
    suite.add_async_test(
        &format!("{store}::callers::a_pool_that_does_not_roll_back_is_refused"),
        async move {
            let backend = leaks();
            let (setup, url) = Setup::at(&backend).await;
            a_pool_that_does_not_roll_back_is_refused(&setup, &url).await;
        },
    );
    let tests = tests![
        a_connection_without_a_transaction_is_refused,
        dedup_keys_are_reserved_in_one_order,
        messages_in_unknown_shards_are_reported,
        a_queue_without_a_consumer_is_reported,
    ];
    for (what, test) in tests {
        let backend = backend.clone();
        suite.add_async_test(&format!("{store}::callers::{what}"), async move {
            let backend = backend();
            test(&Setup::of(&backend).await).await;
        });
    }
}

fn on_servers() -> Vec<(&'static str, Trial)> {
    tests![
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
        an_own_transaction_is_kept_whole_or_not_at_all,
        a_call_that_failed_in_an_own_transaction_has_written_nothing,
        an_own_transaction_that_has_ended_is_refused,
        an_own_transaction_is_refused_long_after_a_deadlock,
        statements_at_once_wait_in_an_own_transaction,
        an_own_transaction_that_was_cut_short_is_not_committed,
        a_strange_own_transaction_returns_no_strange_connection,
        a_second_end_of_an_own_transaction_is_an_error,
        a_submission_that_waits_has_taken_nothing_that_comes_after,
        a_transaction_that_ends_before_a_failed_call_is_undone_is_said_to_be_gone,
        a_failed_call_whose_undoing_is_killed_has_written_nothing,
    ]
}

async fn a_connection_without_a_transaction_is_refused(setup: &Setup) {
    let message = [setup.message()];
    let error = setup.outbox.enqueue_on(&setup.plain, &message).await.expect_err("no transaction");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
    assert_eq!(setup.outbox.enqueue_now(&message).await.expect("its own transaction"), [New]);
    let tx = setup.plain.begin().await.expect("begin");
    assert_eq!(setup.outbox.enqueue_on(&tx, &message).await.expect("in a transaction"), [Duplicate]);
    assert_eq!(setup.outbox.enqueue_on(&tx, &[setup.message()]).await.expect("in a transaction"), [New]);
    let nested = tx.begin().await.expect("begin");
    assert_eq!(setup.outbox.enqueue_on(&nested, &[setup.message()]).await.expect("in a nested one"), [New]);
    nested.rollback().await.expect("roll back");
    tx.commit().await.expect("commit");
    assert_eq!(setup.outbox.enqueue_now(&message).await.expect("again"), [Duplicate]);
    assert_eq!(depth(setup).await, 2);
    match setup.outbox.dialect() {
        Dialect::MySql => a_sqlx_connection_without_a_transaction_is_refused(setup).await,
        Dialect::Sqlite => a_sqlx_connection_to_sqlite_without_a_transaction_is_refused(setup).await,
    }
}

async fn a_sqlx_connection_without_a_transaction_is_refused(setup: &Setup) {
    use sea_orm::sqlx::Connection;
    let pool = setup.plain.get_mysql_connection_pool();
    let mut connection = pool.acquire().await.expect("a connection");
    let message = [setup.message()];
    let error = setup.outbox.enqueue_sqlx(&mut connection, &message).await.expect_err("no transaction");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
    let mut tx = connection.begin().await.expect("begin");
    assert_eq!(setup.outbox.enqueue_sqlx(&mut tx, &message).await.expect("in a transaction"), [New]);
    tx.commit().await.expect("commit");
    assert_eq!(depth(setup).await, 3);
}

async fn a_sqlx_connection_to_sqlite_without_a_transaction_is_refused(setup: &Setup) {
    use sea_orm::sqlx::Connection;
    let mut connection = setup.plain.get_sqlite_connection_pool().acquire().await.expect("a connection");
    let message = [setup.message()];
    let error =
        setup.outbox.enqueue_sqlx_sqlite(&mut connection, &message).await.expect_err("no transaction");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
    let mut tx = connection.begin_with("BEGIN IMMEDIATE").await.expect("begin");
    assert_eq!(setup.outbox.enqueue_sqlx_sqlite(&mut tx, &message).await.expect("in a transaction"), [New]);
    tx.commit().await.expect("commit");
    assert_eq!(depth(setup).await, 3);
}

/// The caller commits what is left of its transaction after a lock wait that ran out.
async fn a_call_that_failed_has_written_nothing(setup: &Setup) {
    let unique = || setup.message().unique_by(DedupKey::new("order-1").expect("a key"));
    let holder = setup.outbox.begin().await.expect("begin");
    setup.outbox.enqueue(&holder, &[unique()]).await.expect("enqueue");
    let tx = setup.plain.begin().await.expect("begin");
    tx.execute_unprepared("SET SESSION innodb_lock_wait_timeout = 1").await.expect("a shorter wait");
    let call = [setup.message(), unique()];
    let error = setup.outbox.enqueue(&tx, &call).await.expect_err("the key is held");
    assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
    tx.commit().await.expect("commit");
    holder.rollback().await.expect("roll back");
    assert_eq!(setup.outbox.enqueue_now(&call).await.expect("again"), [New, New]);
    assert_eq!(depth(setup).await, 2);
}
