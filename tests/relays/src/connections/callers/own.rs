//! Transactions of the outbox's own type: they prove less, and what may have changed their connection is noticed.

use claimstream_domain::Enqueued::New;
use claimstream_ports::{Enqueue, StoreErrorKind};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::eventually;
use futures::future::join;
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use super::{
    ended::{Tables, refused},
    setup::{Setup, depth},
};
use crate::fixture::Wire;
use claimstream_testbed::statement_waits;

/// What was written in it exists if and only if it was committed.
/// Guard: only an ended transaction returns its connection as clean |
/// adapters/sea-orm/src/caller_transactions/own.rs `drop`: `is_open` ignored
pub(super) async fn an_own_transaction_is_kept_whole_or_not_at_all(setup: &Setup) {
    Tables::make(setup).await;
    for (order, end) in [(1, End::Commit), (2, End::RollBack), (3, End::Drop)] {
        let tx = setup.outbox.begin_own().await.expect("begin");
        tx.execute_unprepared(&format!("INSERT INTO orders VALUES ({order})")).await.expect("business data");
        for messages in [vec![setup.message()], vec![], vec![setup.message(), setup.message()]] {
            assert_eq!(
                setup.outbox.enqueue(&tx, &messages).await.expect("enqueue"),
                vec![New; messages.len()]
            );
        }
        match end {
            End::Commit => tx.commit().await.expect("commit"),
            End::RollBack => tx.roll_back().await.expect("roll back"),
            End::Drop => drop(tx),
        }
        // A connection that came back in the middle of a transaction would commit that by beginning the next one.
        setup.outbox.begin_own().await.expect("begin").roll_back().await.expect("roll back");
    }
    assert_eq!((depth(setup).await, orders(setup).await), (3, 1));
}

enum End {
    Commit,
    RollBack,
    Drop,
}

/// A call that fails leaves nothing of itself, and the caller may commit the rest.
pub(super) async fn a_call_that_failed_in_an_own_transaction_has_written_nothing(setup: &Setup) {
    let breaking = "CREATE TRIGGER breaking BEFORE INSERT ON claimstream_queue FOR EACH ROW \
                    BEGIN IF NEW.id = 0x0123456789abcdef0123456789abcdef THEN SIGNAL SQLSTATE '45000'; END IF; END";
    setup.plain.execute_unprepared(breaking).await.expect("a trigger");
    let mut broken = setup.message();
    broken.id = claimstream_domain::MessageId::new(uuid::Uuid::from_u128(0x0123456789abcdef0123456789abcdef));
    let tx = setup.outbox.begin_own().await.expect("begin");
    assert_eq!(setup.outbox.enqueue(&tx, &[setup.message()]).await.expect("before"), [New]);
    setup.outbox.enqueue(&tx, &[setup.message(), broken.clone()]).await.expect_err("refused by a trigger");
    assert_eq!(setup.outbox.enqueue(&tx, &[setup.message()]).await.expect("after"), [New]);
    tx.commit().await.expect("commit");
    setup.plain.execute_unprepared("DROP TRIGGER breaking").await.expect("no trigger");
    assert_eq!(setup.outbox.enqueue_now(&[broken]).await.expect("it left no body"), [New]);
    assert_eq!(depth(setup).await, 3);
}

/// A deadlock that the caller has not noticed, and a statement that commits by itself.
pub(super) async fn an_own_transaction_that_has_ended_is_refused(setup: &Setup) {
    let tables = Tables::make(setup).await;
    let tx = setup.outbox.begin_own().await.expect("begin");
    assert_eq!(setup.outbox.enqueue(&tx, &[setup.message()]).await.expect("enqueue"), [New]);
    tables.lose_a_deadlock(setup, &tx).await;
    refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
    refused(tx.commit().await);
    let tx = setup.outbox.begin_own().await.expect("begin");
    tx.execute_unprepared("CREATE TABLE implicit (id INT PRIMARY KEY) ENGINE = InnoDB").await.expect("DDL");
    refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
    refused(tx.commit().await);
    assert_eq!(depth(setup).await, 0);
}

/// The caller has gone on writing after a deadlock: even MariaDB 10.5, which takes that for the next transaction, refuses what
/// follows, because the savepoint was of the first one.
/// Guard: a refused statement is followed by a proof | adapters/sea-orm/src/caller_transactions/own.rs
/// `keep`: no `is_strange`; fails on MariaDB 10.5
pub(super) async fn an_own_transaction_is_refused_long_after_a_deadlock(setup: &Setup) {
    let tables = Tables::make(setup).await;
    let tx = setup.outbox.begin_own().await.expect("begin");
    tables.lose_a_deadlock(setup, &tx).await;
    tx.execute_unprepared("INSERT INTO orders VALUES (9)").await.expect("what comes next");
    refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
    refused(tx.commit().await);
    assert_eq!(depth(setup).await, 0);
}

/// Two statements at once wait for each other, as on a transaction of the driver.
pub(super) async fn statements_at_once_wait_in_an_own_transaction(setup: &Setup) {
    Tables::make(setup).await;
    let tx = setup.outbox.begin_own().await.expect("begin");
    let (messages, more) = ([setup.message()], "INSERT INTO orders SELECT 1 + 0 * SLEEP(0.05)");
    let (wrote, enqueued) = join(tx.execute_unprepared(more), setup.outbox.enqueue(&tx, &messages)).await;
    wrote.expect("an order");
    assert_eq!(enqueued.expect("after the order"), [New]);
    tx.commit().await.expect("commit");
    assert_eq!((depth(setup).await, orders(setup).await), (1, 1));
}

/// A statement that was cut short took the connection along; a call that was dropped between two of its statements may have
/// written one of them.
/// Guard: a commit on a lost connection is reported as not committed |
/// adapters/sea-orm/src/caller_transactions/own.rs `commit`: does not look
/// Guard: a transaction with a call that was dropped half way is not committed |
/// adapters/sea-orm/src/caller_transactions/own.rs `commit`: `calls` ignored
pub(super) async fn an_own_transaction_that_was_cut_short_is_not_committed(setup: &Setup) {
    Tables::make(setup).await;
    let tx = setup.outbox.begin_own().await.expect("begin");
    let slow = tx.execute_unprepared("INSERT INTO orders SELECT 1 + 0 * SLEEP(300)");
    let id = tokio::select! {
        _ = slow => panic!("it did not sleep"),
        id = statement_waits(&setup.outbox) => id,
    };
    setup.plain.execute_unprepared(&format!("KILL {id}")).await.expect("an end of its sleep");
    refused(tx.commit().await);
    let tx = setup.outbox.begin_own().await.expect("begin");
    let messages = [setup.message()];
    let mut slow = Box::pin(tx.execute_unprepared("INSERT INTO orders SELECT 1 + 0 * SLEEP(0.5)"));
    assert!(futures::poll!(&mut slow).is_pending());
    let mut call = Box::pin(setup.outbox.enqueue(&tx, &messages));
    assert!(futures::poll!(&mut call).is_pending());
    drop(call);
    slow.await.expect("an order");
    refused(tx.commit().await);
    assert_eq!((depth(setup).await, orders(setup).await), (0, 0));
}

/// A link that swallows everything keeps no place in the pool: a connection that returns clean is given up in time.
pub(super) async fn a_clean_connection_on_a_dead_link_leaves_the_pool(url: &str) {
    let wire = Wire::to(url).await.expect("a port");
    let outbox = SeaOrmOutbox::open(&wire.url, OpenOptions::default()).await.expect("open");
    outbox.begin_own().await.expect("begin").commit().await.expect("commit");
    let pool = outbox.connection().get_mysql_connection_pool();
    assert_eq!(pool.size(), 1);
    wire.swallow();
    eventually("the connection is given up", || async { pool.size() == 0 }).await;
}

/// What a caller has done to a connection does not come to the next one.
/// Guard: statements that may change a session are recognised |
/// adapters/sea-orm/src/caller_transactions/own.rs `leaves_the_session`: true for every text
pub(super) async fn a_strange_own_transaction_returns_no_strange_connection(setup: &Setup) {
    Tables::make(setup).await;
    let stranges = ["SET autocommit = 0", "SAVEPOINT caller", "COMMIT; BEGIN", "COMMIT; SET autocommit = 0"];
    for (strange, calls) in stranges.into_iter().flat_map(|strange| [(strange, 0), (strange, 1)]) {
        let tx = setup.outbox.begin_own().await.expect("begin");
        tx.execute_unprepared(strange).await.expect(strange);
        for _ in 0..calls {
            // It may be refused, as by a proof that needs autocommit.
            let _ = setup.outbox.enqueue(&tx, &[setup.message()]).await;
        }
        let _ = tx.commit().await;
        for order in 0..4 {
            let tx = setup.outbox.begin_own().await.expect("begin");
            let autocommit = Statement::from_string(DbBackend::MySql, "SELECT CAST(@@autocommit AS SIGNED)");
            let autocommit = tx.query_one_raw(autocommit).await.expect("an answer").expect("a row");
            assert_eq!(autocommit.try_get_by_index::<i64>(0).expect("a number"), 1, "after {strange}");
            tx.roll_back().await.expect("roll back");
            let insert = format!("REPLACE INTO orders VALUES ({order})");
            setup.outbox.connection().execute_unprepared(&insert).await.expect("an acknowledged write");
        }
        assert_eq!(orders(setup).await, 4, "a write was lost after {strange}");
        setup.plain.execute_unprepared("DELETE FROM orders").await.expect("no orders");
    }
}

/// An own transaction is refused nothing that others are not: its kind of error is the same.
pub(super) async fn a_second_end_of_an_own_transaction_is_an_error(setup: &Setup) {
    let tx = setup.outbox.begin_own().await.expect("begin");
    tx.execute_unprepared("ROLLBACK").await.expect("by hand");
    let error = tx.commit().await.expect_err("it has ended");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
}

async fn orders(setup: &Setup) -> usize {
    let all = Statement::from_string(DbBackend::MySql, "SELECT id FROM orders");
    setup.plain.query_all_raw(all).await.expect("a read").len()
}
