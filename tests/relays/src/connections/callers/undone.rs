//! A call that failed, and something that is in the way of taking its writes back.
//! Promise: a failed call on a caller's connection is rolled back although the first attempt to do so is
//! refused, or its error says that the transaction is rolled back

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use claimstream_domain::{Enqueued::New, NewMessage};
use sea_orm::{
    ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, ExecResult, QueryResult, Statement,
    TransactionTrait,
};

use super::{
    ended::refused,
    setup::{Setup, depth},
};

/// The call fails, and what takes its writes back meets the end of the transaction, as where another node's commit comes at that moment.
/// Guard: a deadlock during a rollback to a savepoint ends the transaction |
/// adapters/sea-orm/src/caller_transactions/savepoint.rs `has_ended`: no `DEADLOCK`; `undo`: one try
pub(super) async fn a_transaction_that_ends_before_a_failed_call_is_undone_is_said_to_be_gone(setup: &Setup) {
    let broken = Broken::make(setup).await;
    let tx = setup.plain.begin().await.expect("begin");
    let on = Undoing {
        tx: &tx,
        instead: "ROLLBACK; SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213",
        met: false.into(),
    };
    let met = setup.outbox.enqueue_on(&on, &broken.messages).await.expect_err("refused by a trigger");
    assert!(met.to_string().contains("rolled back the whole transaction"), "{met}");
    refused(setup.outbox.enqueue_on(&tx, &[setup.message()]).await);
    tx.commit().await.expect("commit");
    assert_eq!(depth(setup).await, 0);
}

/// The call fails, and the statement that takes its writes back is killed: the caller may commit, and nothing of the call is there.
/// Guard: a rollback to a savepoint that was refused is tried again |
/// adapters/sea-orm/src/caller_transactions/savepoint.rs `undo`: any refusal ends it
pub(super) async fn a_failed_call_whose_undoing_is_killed_has_written_nothing(setup: &Setup) {
    let broken = Broken::make(setup).await;
    let tx = setup.plain.begin().await.expect("begin");
    let on =
        Undoing { tx: &tx, instead: "SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1317", met: false.into() };
    setup.outbox.enqueue_on(&on, &broken.messages).await.expect_err("refused by a trigger");
    tx.commit().await.expect("commit");
    setup.plain.execute_unprepared("DROP TRIGGER breaking").await.expect("no trigger");
    let enqueued = setup.outbox.enqueue_now(&broken.messages).await;
    assert_eq!(enqueued.expect("it left no body"), [New]);
}

/// A message whose body is taken and whose entry in the queue is refused.
struct Broken {
    messages: [NewMessage; 1],
}

impl Broken {
    async fn make(setup: &Setup) -> Self {
        let breaking =
            "CREATE TRIGGER breaking BEFORE INSERT ON claimstream_queue FOR EACH ROW SIGNAL SQLSTATE '45000'";
        setup.plain.execute_unprepared(breaking).await.expect("a trigger");
        Self { messages: [setup.message()] }
    }
}

/// A transaction on which something else happens before the first return to a savepoint, which is answered as that is.
struct Undoing<'a> {
    tx: &'a DatabaseTransaction,
    instead: &'static str,
    met: AtomicBool,
}

#[async_trait]
impl ConnectionTrait for Undoing<'_> {
    fn get_database_backend(&self) -> DbBackend {
        self.tx.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.tx.execute_raw(statement).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        match sql.starts_with("ROLLBACK TO") && !self.met.swap(true, Ordering::SeqCst) {
            true => self.tx.execute_unprepared(self.instead).await,
            false => self.tx.execute_unprepared(sql).await,
        }
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.tx.query_one_raw(statement).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.tx.query_all_raw(statement).await
    }
}
