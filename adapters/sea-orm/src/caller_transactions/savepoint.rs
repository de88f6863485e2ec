use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, DbErr};

use crate::{
    caller_transactions::ended::by_another_node,
    database::{
        Database,
        args::Args,
        classify::{classify, is_answer, is_gone, is_missing_table, refusal},
        dialect::Dialect,
        identity::Identity,
        servers::Peers,
        unit::{Row, rows},
    },
};

/// A point in a caller's transaction that a call goes back to if it fails.
///
/// A body without its queue entry would make every repeat of the call a duplicate of a message that no relay gets. The
/// caller may commit after a failure, because a lock wait or a killed statement leaves the transaction open; so the
/// writes of the call are taken back before the caller gets the error. That costs one short round trip. Other tables cannot
/// decide it, because a settled message leaves nothing there.
///
/// To set it proves, in the same packet, that the connection is in a transaction and leads to the outbox's own database. A
/// handle does not show it: a deadlock ends the transaction on the server alone, later statements commit themselves, and
/// the handle's commit answers Ok.
pub(crate) struct Savepoint<'a, C> {
    db: &'a Database,
    on: &'a C,
    operation: &'static str,
}

/// The transaction is rolled back, for a deadlock or for another node's commit.
const DEADLOCK: u32 = 1213;
/// The proof's sum is out of range.
pub(crate) const NOT_PROVEN: u32 = 1690;
/// The database has none of the tables.
const NO_TABLE: u32 = 1146;
/// SQLite's answer to what makes no sense where it is said.
pub(crate) const SQLITE_ERROR: u32 = 1;

impl<'a, C: ConnectionTrait> Savepoint<'a, C> {
    const UNDO_TRIES: u32 = 2;

    /// Sets it on a connection that proves to be in a transaction on the outbox's own database, and refuses any other.
    pub(crate) async fn set(
        db: &'a Database,
        on: &'a C,
        operation: &'static str,
    ) -> Result<Self, StoreError> {
        let savepoint = Self { db, on, operation };
        match db.dialect {
            Dialect::MySql => savepoint.set_on_server().await?,
            Dialect::Sqlite => savepoint.set_in_file().await?,
        }
        Ok(savepoint)
    }

    /// Sets it in a transaction of the outbox's own, whose savepoint shows that it is the one that was begun.
    pub(crate) async fn renew(
        db: &'a Database,
        on: &'a C,
        operation: &'static str,
    ) -> Result<Self, StoreError> {
        let savepoint = Self { db, on, operation };
        let sql = &db.sql.savepoint;
        let renew = match db.health.servers.peers() {
            Peers::Apart => &sql.renew,
            Peers::Galera => &sql.renew_galera,
            Peers::Group => &sql.renew_group,
        };
        match savepoint.execute(renew.text()).await {
            Ok(()) => Ok(savepoint),
            Err(error) if is_gone(&error) => Err(savepoint.no_transaction().await),
            Err(error) => Err(classify(operation, error)),
        }
    }

    /// A session that was proven to be on the outbox's own database remembers it, so that the row that all callers share is
    /// read once for each connection. One that remembers nothing, or something else, is proven again.
    async fn set_on_server(&self) -> Result<(), StoreError> {
        let mut set = self.execute(&self.db.identity.proof_of_known(self.db.sql)).await;
        if set.as_ref().is_err_and(|error| refusal(error) == Some(NOT_PROVEN)) {
            set = self.execute(&self.db.identity.proof_to_remember(self.db.sql)).await;
        }
        let Err(error) = set else { return Ok(()) };
        match refusal(&error) {
            _ if is_gone(&error) => Err(self.no_transaction().await),
            Some(NO_TABLE) => Err(self.refused(ANOTHER_DATABASE)),
            Some(NOT_PROVEN) => Err(self.not_proven().await),
            _ => Err(classify(self.operation, error)),
        }
    }

    /// Why a sum was out of range. Asking touches no table: on MariaDB 10.5 that would begin the next transaction.
    async fn not_proven(&self) -> StoreError {
        let asked = self.db.sql.session.transaction.bind(&Args::new());
        match rows(self.on, self.operation, asked).await.and_then(|rows| session(&rows)) {
            Ok((0, _)) => self.refused(NO_AUTOCOMMIT),
            Ok((_, 0)) => self.no_transaction().await,
            Ok(_) => self.refused(ANOTHER_DATABASE),
            Err(error) => error,
        }
    }

    /// The proof works where there is no transaction, and is refused, having done nothing, where there is one. Whose
    /// database it is, is read when the call has written: a transaction that reads first may be refused to write.
    async fn set_in_file(&self) -> Result<(), StoreError> {
        match self.execute(self.db.sql.savepoint.proof.text()).await {
            Ok(()) => Err(self.refused(NO_TRANSACTION)),
            Err(error) if refusal(&error) == Some(SQLITE_ERROR) => {
                self.send(self.db.sql.savepoint.set.text()).await
            }
            Err(error) => Err(classify(self.operation, error)),
        }
    }

    /// Keeps the writes since then if `done` is Ok, and takes them back otherwise.
    pub(crate) async fn end<T>(self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        let done = match done {
            Ok(done) => self.release().await.map(|()| done),
            failed => failed,
        };
        match done {
            Ok(done) => Ok(done),
            Err(error) => {
                let elsewhere = is_missing_table(&error) && !self.is_ours().await;
                let error = self.undo(error).await;
                Err(if elsewhere { self.refused(ANOTHER_DATABASE) } else { error })
            }
        }
    }

    /// Whether the connection leads to the outbox's own database, as far as it says.
    async fn is_ours(&self) -> bool {
        let found = Identity::read(self.on, self.operation, self.db.sql).await;
        found.is_ok_and(|found| found == Some(self.db.identity))
    }

    /// On a server the next savepoint of the same name takes its place, and a round trip is saved.
    async fn release(&self) -> Result<(), StoreError> {
        if self.db.dialect == Dialect::MySql {
            return Ok(());
        }
        if Identity::read(self.on, self.operation, self.db.sql).await? != Some(self.db.identity) {
            return Err(self.refused(ANOTHER_DATABASE));
        }
        self.send(self.db.sql.savepoint.release.text()).await
    }

    /// Takes the writes back. Where there is no savepoint to go back to, the failure has ended the whole transaction, and
    /// the caller must know: the handle looks as before. The same holds where the end comes only now, by another node's commit. One that
    /// was refused for something else, as because it was killed, has taken nothing back, and is sent again.
    async fn undo(&self, error: StoreError) -> StoreError {
        for _ in 0..Self::UNDO_TRIES {
            match self.execute(self.db.sql.savepoint.undo.text()).await {
                Ok(()) => return error,
                Err(nowhere) if self.has_ended(&nowhere) => return rolled_back(error),
                Err(refused) if is_answer(&refused) => {}
                // The connection is lost, and the transaction with it.
                Err(_) => return error,
            }
        }
        not_taken_back(error)
    }

    fn has_ended(&self, error: &DbErr) -> bool {
        match self.db.dialect {
            Dialect::MySql => is_gone(error) || refusal(error) == Some(DEADLOCK),
            Dialect::Sqlite => refusal(error) == Some(SQLITE_ERROR),
        }
    }

    async fn send(&self, text: &str) -> Result<(), StoreError> {
        self.execute(text).await.map_err(|e| classify(self.operation, e))
    }

    async fn execute(&self, text: &str) -> Result<(), DbErr> {
        self.on.execute_unprepared(text).await.map(|_| ())
    }

    /// A server has no transaction there.
    async fn no_transaction(&self) -> StoreError {
        by_another_node(self.db, self.refused(NO_TRANSACTION)).await
    }

    fn refused(&self, why: &'static str) -> StoreError {
        StoreError::new(StoreErrorKind::Unsupported, self.operation, why)
    }
}

const NO_TRANSACTION: &str = "the connection is not in a transaction: none was begun, or it has ended since, as by a \
                              deadlock or a statement that commits by itself; roll back, begin a new one and repeat \
                              everything in it; without business data, use enqueue_now";
const NO_AUTOCOMMIT: &str = "autocommit is off on this connection, so a transaction that a deadlock has ended cannot be \
                             distinguished from the next one; SET autocommit = 1 and begin transactions explicitly";
const ANOTHER_DATABASE: &str =
    "the connection does not lead to this outbox's own database; use a connection to that one";

/// Whether autocommit is on, and whether a transaction is open as far as the server says.
fn session(rows: &[Row]) -> Result<(i64, i64), StoreError> {
    rows.first().map_or(Ok((1, 1)), |row| Ok((row.int("autocommit")?, row.int("in_transaction")?)))
}

fn rolled_back(error: StoreError) -> StoreError {
    with_reason(
        error,
        "the database has rolled back the whole transaction; begin a new one and repeat everything in it",
    )
}

fn not_taken_back(error: StoreError) -> StoreError {
    with_reason(
        error,
        "the call may have left a part of itself in the transaction; roll back, begin a new one and repeat everything in it",
    )
}

/// The kind stays: where it is `Transient`, the transaction as a whole can be repeated.
fn with_reason(error: StoreError, reason: &str) -> StoreError {
    let why = format!("{reason}: {}", error.get_ref());
    StoreError::new(error.kind(), error.operation(), why)
}
