//! A transaction that the database has ended, though the caller's handle lives on.
//! Promise: the outbox's own commit, and a step, are refused when the transaction has ended

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use claimstream_domain::{
    DedupKey,
    Enqueued::New,
    saga::{NewSaga, SagaId},
    step::{Begun, NewStep, StepChange, StepKey},
};
use claimstream_ports::{
    Enqueue, StoreError, StoreErrorKind, Transactions,
    saga::{NoteSagas, SagaReports},
    step::{LockWait, Locked, StepLedger},
};
use futures::future::join;
use sea_orm::{
    ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, ExecResult, IsolationLevel, QueryResult,
    Statement, TransactionTrait, sqlx,
};

use super::setup::{Setup, depth};

/// A caller has not noticed a deadlock in a statement of its own, and commits.
/// Guard: an enqueue proves that its transaction is open |
/// adapters/sea-orm/src/caller_transactions/savepoint.rs: `SAVEPOINT` alone, on SQLite without `BEGIN` before
/// it
/// Guard: MariaDB 10.5 is asked whether it is in a transaction |
/// adapters/sea-orm/src/sql/savepoint/proof.mysql.sql: no `@@in_transaction`; the same in known.mysql.sql
pub(super) async fn an_enqueue_after_a_swallowed_deadlock_is_refused(setup: &Setup) {
    let tables = Tables::make(setup).await;
    let tx = setup.outbox.begin().await.expect("begin");
    tables.lose_a_deadlock(setup, &tx).await;
    refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
    refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
    tx.commit().await.expect("commit");

    let tx = setup.plain.begin().await.expect("begin");
    assert_eq!(setup.outbox.enqueue_on(&tx, &[setup.message()]).await.expect("before"), [New]);
    tables.lose_a_deadlock(setup, &tx).await;
    refused(setup.outbox.enqueue_on(&tx, &[setup.message()]).await);
    tx.commit().await.expect("commit");

    let mut tx = setup.plain.get_mysql_connection_pool().begin().await.expect("begin");
    tables.lose_a_deadlock(setup, &claimstream_sea_orm::SqlxMySql::new(&mut tx)).await;
    refused(setup.outbox.enqueue_sqlx(&mut tx, &[setup.message()]).await);
    tx.commit().await.expect("commit");

    let mut tx = setup.plain.get_mysql_connection_pool().begin().await.expect("begin");
    let exported = setup.outbox.enqueue_statements(&[setup.message()]).expect("statements");
    let proof = exported.proof.expect("a proof");
    assert!(send(&mut tx, &proof).await.is_ok());
    tables.lose_a_deadlock(setup, &claimstream_sea_orm::SqlxMySql::new(&mut tx)).await;
    let error = send(&mut tx, &proof).await.expect_err("the transaction has ended").to_string();
    assert!(["1305", "1690"].iter().any(|number| error.contains(number)), "{error}");
    assert_eq!(depth(setup).await, 0);
}

/// The caller has gone on writing. MariaDB 10.5 takes that for the next transaction, which nothing tells from the first.
pub(super) async fn an_enqueue_long_after_a_swallowed_deadlock_is_refused(setup: &Setup) {
    let tables = Tables::make(setup).await;
    let tx = setup.outbox.begin().await.expect("begin");
    tables.lose_a_deadlock(setup, &tx).await;
    tx.execute_unprepared("INSERT INTO orders VALUES (9)").await.expect("what comes next");
    let enqueued = setup.outbox.enqueue(&tx, &[setup.message()]).await;
    let version = Statement::from_string(DbBackend::MySql, "SELECT VERSION()");
    let version = setup.plain.query_one_raw(version).await.expect("an answer").expect("a row");
    match version.try_get_by_index::<String>(0).expect("a version").starts_with("10.5.") {
        true => assert_eq!(enqueued.expect("in the next transaction"), [New]),
        false => refused(enqueued),
    }
    tx.rollback().await.expect("roll back");
    assert_eq!(depth(setup).await, 0);
}

/// The deadlock is the enqueue's own: it says that the transaction is gone, and the call cannot be repeated on the handle.
/// Guard: a failure that ended the transaction is reported as such |
/// adapters/sea-orm/src/caller_transactions/savepoint.rs `undo`: the error as it is
pub(super) async fn an_enqueue_that_met_a_deadlock_says_that_the_transaction_is_gone(setup: &Setup) {
    let tables = Tables::make(setup).await;
    let unique = || setup.message().unique_by(DedupKey::new("order-1").expect("a key"));
    let other = tables.heavy(setup).await;
    setup.outbox.enqueue(&other, &[unique()]).await.expect("enqueue");
    let tx = setup.outbox.begin().await.expect("begin");
    tx.execute_unprepared("INSERT INTO orders VALUES (7)").await.expect("business data");
    tx.execute_unprepared("UPDATE stock SET n = n + 1 WHERE id = 1").await.expect("a lock");
    let call = [unique()];
    let (met, went_on) = join(
        setup.outbox.enqueue(&tx, &call),
        other.execute_unprepared("UPDATE stock SET n = n + 1 WHERE id = 1"),
    )
    .await;
    went_on.expect("the heavier one goes on");
    let met = met.expect_err("a deadlock");
    assert_eq!(met.kind(), StoreErrorKind::Transient, "{met}");
    assert!(met.to_string().contains("rolled back the whole transaction"), "{met}");
    other.rollback().await.expect("roll back");
    refused(setup.outbox.enqueue(&tx, &call).await);
    tx.commit().await.expect("commit");
    assert_eq!(depth(setup).await, 0);
    assert_eq!(setup.outbox.enqueue_now(&call).await.expect("a whole new transaction"), [New]);
}

/// A deadlock after the last enqueue: the message is gone with the transaction, and the commit says so.
/// Guard: a commit proves the transaction | adapters/sea-orm/src/caller_transactions/commit.rs: `tx.commit()`
/// alone
pub(super) async fn a_commit_after_a_swallowed_deadlock_is_refused(setup: &Setup) {
    let tables = Tables::make(setup).await;
    let tx = setup.outbox.begin().await.expect("begin");
    assert_eq!(setup.outbox.enqueue(&tx, &[setup.message()]).await.expect("enqueue"), [New]);
    tables.lose_a_deadlock(setup, &tx).await;
    refused(setup.outbox.commit_tx(tx).await);
    let tx = setup.outbox.begin().await.expect("begin");
    tx.execute_unprepared("CREATE TABLE implicit (id INT PRIMARY KEY) ENGINE = InnoDB").await.expect("DDL");
    refused(setup.outbox.commit_tx(tx).await);
    assert_eq!(depth(setup).await, 0);
    // What is still there commits, whether anything was written in it or not, and leaves nothing open.
    for messages in [vec![], vec![setup.message(), setup.message()]] {
        let tx = setup.outbox.begin().await.expect("begin");
        setup.outbox.enqueue(&tx, &messages).await.expect("enqueue");
        setup.outbox.commit_tx(tx).await.expect("commit");
        let tx = setup.outbox.begin().await.expect("begin");
        tx.execute_unprepared("DELETE FROM claimstream_queue").await.expect("what is undone");
        setup.outbox.roll_back_tx(tx).await.expect("roll back");
    }
    assert_eq!(depth(setup).await, 2);
}

/// A step that is noted after a deadlock would be taken for good, without what came before it.
/// Guard: a step proves the transaction | adapters/sea-orm/src/outbox/steps/ledger.rs: no `within`; the same in
/// sagas.rs
pub(super) async fn a_step_after_a_swallowed_deadlock_is_refused(setup: &Setup) {
    let (outbox, tables) = (&setup.outbox, Tables::make(setup).await);
    let key = |step| StepKey::new("deadlocks", "7", step).expect("a key");
    let tx = outbox.begin().await.expect("begin");
    let (Begun::New(taken) | Begun::Found(taken)) =
        StepLedger::begin(outbox, &tx, &NewStep::new(key("taken"), 1)).await.expect("a step");
    outbox.commit_tx(tx).await.expect("commit");

    let tx = outbox.begin().await.expect("begin");
    tables.lose_a_deadlock(setup, &tx).await;
    refused(StepLedger::begin(outbox, &tx, &NewStep::new(key("late"), 1)).await);
    drop(tx);
    let tx = outbox.begin().await.expect("begin");
    assert!(matches!(outbox.lock(&tx, &key("taken"), LockWait::Wait).await, Ok(Locked::Held(_))));
    tables.lose_a_deadlock(setup, &tx).await;
    refused(outbox.advance(&tx, &key("taken"), &taken, &StepChange::to(2)).await);
    drop(tx);
    let tx = outbox.begin().await.expect("begin");
    tables.lose_a_deadlock(setup, &tx).await;
    let id = SagaId::new(uuid::Uuid::now_v7());
    let (scope, owner, input) = ("saga:deadlocks".into(), "anna".into(), "7".into());
    refused(outbox.note(&tx, &NewSaga { scope, id, owner, input }).await);
    drop(tx);

    let tx = outbox.begin().await.expect("begin");
    assert_eq!(outbox.find(&tx, &key("late")).await.expect("a look"), None);
    assert_eq!(outbox.find(&tx, &key("taken")).await.expect("a look"), Some(taken));
    drop(tx);
    assert!(outbox.saga("saga:deadlocks", id).await.expect("a look").is_none());
}

/// A statement that commits by itself ends the transaction as well.
pub(super) async fn an_enqueue_after_an_implicit_commit_is_refused(setup: &Setup) {
    let tx = setup.outbox.begin().await.expect("begin");
    tx.execute_unprepared("CREATE TABLE implicit (id INT PRIMARY KEY) ENGINE = InnoDB")
        .await
        .expect("a table");
    refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
    tx.rollback().await.expect("roll back");
    assert_eq!(depth(setup).await, 0);
}

/// With autocommit off the next transaction begins by itself, and nothing tells it from the one that ended.
/// Guard: a session with autocommit off is refused | adapters/sea-orm/src/sql/savepoint/proof.mysql.sql: no
/// `@@autocommit = 0`; the same in known.mysql.sql
pub(super) async fn a_connection_without_autocommit_is_refused(setup: &Setup) {
    let mut connection = setup.plain.get_mysql_connection_pool().acquire().await.expect("a connection");
    send(&mut connection, "SET autocommit = 0").await.expect("a setting");
    let error = setup.outbox.enqueue_sqlx(&mut connection, &[setup.message()]).await.expect_err("refused");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("SET autocommit = 1"), "{error}");
    send(&mut connection, "COMMIT; SET autocommit = 1; BEGIN").await.expect("a transaction");
    let enqueued = setup.outbox.enqueue_sqlx(&mut connection, &[setup.message()]).await;
    assert_eq!(enqueued.expect("in a transaction"), [New]);
    send(&mut connection, "COMMIT").await.expect("commit");
    assert_eq!(depth(setup).await, 1);
}

/// The proof costs no round trip: it goes with the savepoint. Only the first on a connection reads where the connection
/// leads, which is one more.
pub(super) async fn an_enqueue_takes_as_many_round_trips_as_its_statements(setup: &Setup) {
    let tx = setup.plain.begin().await.expect("begin");
    let counted = Counted { tx: &tx, sent: AtomicUsize::new(0) };
    for round_trips in [4, 3, 3] {
        counted.sent.store(0, Ordering::SeqCst);
        assert_eq!(setup.outbox.enqueue_on(&counted, &[setup.message()]).await.expect("enqueue"), [New]);
        assert_eq!(counted.sent.load(Ordering::SeqCst), round_trips, "a savepoint, a body, a queue entry");
    }
    tx.commit().await.expect("commit");
    assert_eq!(depth(setup).await, 3);
}

/// A caller that enqueues first and reads later sees what others have committed between.
/// Guard: the identity is read with a lock | adapters/sea-orm/src/sql/savepoint/proof.mysql.sql: no
/// `LOCK IN SHARE MODE`
pub(super) async fn an_enqueue_does_not_begin_the_callers_snapshot(setup: &Setup) {
    Tables::make(setup).await;
    let repeatable = Some(IsolationLevel::RepeatableRead);
    let tx = setup.plain.begin_with_config(repeatable, None).await.expect("begin");
    assert_eq!(setup.outbox.enqueue_on(&tx, &[setup.message()]).await.expect("enqueue"), [New]);
    setup.plain.execute_unprepared("INSERT INTO orders VALUES (8)").await.expect("another's order");
    let seen = tx.query_all_raw(Statement::from_string(DbBackend::MySql, "SELECT id FROM orders")).await;
    assert_eq!(seen.expect("a read").len(), 1);
    tx.commit().await.expect("commit");
}

/// SQLite ends a transaction by itself where a conflict asks for it.
pub(super) async fn an_enqueue_after_a_conflict_that_rolls_back_is_refused(setup: &Setup) {
    let db = &setup.plain;
    db.execute_unprepared("CREATE TABLE orders (id INTEGER PRIMARY KEY)").await.expect("a table");
    db.execute_unprepared("INSERT INTO orders VALUES (7)").await.expect("an order");
    let tx = setup.outbox.begin().await.expect("begin");
    tx.execute_unprepared("INSERT OR ROLLBACK INTO orders VALUES (7)").await.expect_err("a conflict");
    refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
    drop(tx);
    let breaking =
        "CREATE TRIGGER breaking BEFORE INSERT ON claimstream_queue BEGIN SELECT RAISE(ROLLBACK, 'no'); END";
    db.execute_unprepared(breaking).await.expect("a trigger");
    let tx = setup.outbox.begin().await.expect("begin");
    let met = setup.outbox.enqueue(&tx, &[setup.message()]).await.expect_err("rolled back");
    assert!(met.to_string().contains("rolled back the whole transaction"), "{met}");
    refused(setup.outbox.enqueue(&tx, &[setup.message()]).await);
    refused(setup.outbox.commit_tx(tx).await);
    assert_eq!(depth(setup).await, 0);
}

pub(super) fn refused<T: std::fmt::Debug>(done: Result<T, StoreError>) {
    let error = done.expect_err("the transaction has ended");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("begin a new one and repeat everything in it"), "{error}");
}

async fn send(on: &mut sqlx::MySqlConnection, text: &str) -> Result<(), sqlx::Error> {
    sqlx::Executor::execute(on, sqlx::AssertSqlSafe(text.to_owned())).await.map(|_| ())
}

/// Tables of a caller's: orders to write, and stock to lock.
pub(super) struct Tables;

impl Tables {
    pub(super) async fn make(setup: &Setup) -> Self {
        for sql in [
            "CREATE TABLE orders (id INT PRIMARY KEY) ENGINE = InnoDB",
            "CREATE TABLE stock (id INT PRIMARY KEY, n INT NOT NULL) ENGINE = InnoDB",
            "INSERT INTO stock VALUES (1, 0), (2, 0)",
        ] {
            setup.plain.execute_unprepared(sql).await.expect(sql);
        }
        Self
    }

    /// A transaction that has written so much that a deadlock ends the other one.
    async fn heavy(&self, setup: &Setup) -> DatabaseTransaction {
        let heavy = setup.plain.begin().await.expect("begin");
        let many: Vec<String> = (100..300).map(|id| format!("({id}, 0)")).collect();
        let many = format!("INSERT INTO stock VALUES {}", many.join(", "));
        heavy.execute_unprepared(&many).await.expect("many rows");
        heavy
    }

    /// The transaction writes an order, is ended by a deadlock, and its owner takes no notice.
    pub(super) async fn lose_a_deadlock(&self, setup: &Setup, tx: &impl ConnectionTrait) {
        let heavy = self.heavy(setup).await;
        let update = |id: u32| format!("UPDATE stock SET n = n + 1 WHERE id = {id}");
        heavy.execute_unprepared(&update(1)).await.expect("a lock");
        tx.execute_unprepared("INSERT INTO orders VALUES (7)").await.expect("business data");
        tx.execute_unprepared(&update(2)).await.expect("a lock");
        let (one, two) = (update(1), update(2));
        let (lost, won) = join(tx.execute_unprepared(&one), heavy.execute_unprepared(&two)).await;
        won.expect("the heavier one goes on");
        assert!(lost.is_err_and(|error| error.to_string().contains("1213")), "a deadlock");
        heavy.rollback().await.expect("roll back");
    }
}

/// A transaction that counts what is sent.
struct Counted<'a> {
    tx: &'a DatabaseTransaction,
    sent: AtomicUsize,
}

impl Counted<'_> {
    fn count(&self) -> &DatabaseTransaction {
        self.sent.fetch_add(1, Ordering::SeqCst);
        self.tx
    }
}

#[async_trait]
impl ConnectionTrait for Counted<'_> {
    fn get_database_backend(&self) -> DbBackend {
        self.tx.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.count().execute_raw(statement).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.count().execute_unprepared(sql).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.count().query_one_raw(statement).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.count().query_all_raw(statement).await
    }
}
