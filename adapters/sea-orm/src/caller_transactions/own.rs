use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, ExecResult, QueryResult,
    Statement,
};
use tokio::sync::{Mutex, MutexGuard};

use crate::{
    caller_transactions::{
        commit::{Last, commit_proven, gone, on_server},
        ended::by_another_node,
    },
    database::{
        Database,
        classify::{classify, is_answer},
        deadline::in_time,
        held::Held,
        link::Link,
        servers::Peers,
    },
};

const COMMIT: &str = "commit";
const ROLL_BACK: &str = "roll back";

/// A transaction whose every statement passes through the outbox, which therefore proves less and knows when the connection is
/// clean.
///
/// It costs the database less than a transaction of the driver: an enqueue in it proves in two short statements that it is
/// still the same transaction, and its connection goes back without a statement. Only queries, inserts, updates and deletes
/// are plain; after anything else, such as `SET`, a savepoint or `CALL`, it proves and returns as a transaction of the driver does.
///
/// It is rolled back if it is dropped. It is for tokio only, as [`SeaOrmOutbox::begin`](crate::SeaOrmOutbox::begin) says.
pub struct OwnTransaction {
    pub(crate) db: Arc<Database>,
    pub(crate) on: On,
}

pub(crate) enum On {
    /// SQLite, and pools that were handed in.
    Driver(DatabaseTransaction),
    Watched(Watched),
}

impl OwnTransaction {
    /// Commits, if the transaction is still there; see [`SeaOrmOutbox::commit`](crate::SeaOrmOutbox::commit).
    pub async fn commit(self) -> Result<(), StoreError> {
        let db = Arc::clone(&self.db);
        let committing = async move {
            match self.on {
                On::Driver(tx) => commit_proven(&self.db, tx).await,
                On::Watched(watched) => watched.commit().await,
            }
        };
        db.detached(COMMIT, committing).await
    }

    /// Rolls back.
    pub async fn roll_back(self) -> Result<(), StoreError> {
        let db = Arc::clone(&self.db);
        let rolling_back = async move {
            match self.on {
                On::Driver(tx) => in_time(ROLL_BACK, tx.rollback(), classify).await,
                On::Watched(watched) => watched.roll_back().await,
            }
        };
        db.detached(ROLL_BACK, rolling_back).await
    }
}

/// A connection in a transaction, and what is known of it.
pub(crate) struct Watched {
    db: Arc<Database>,
    connection: Mutex<Option<Link>>,
    is_open: AtomicBool,
    /// Something was sent that may have changed the session or the transaction.
    is_strange: AtomicBool,
    /// A statement was refused. That makes no savepoint, so the proof by the savepoint stays; but it is unknown what the refusal
    /// has left of the transaction.
    is_refused: AtomicBool,
    /// How many calls have begun and not ended. One that was dropped half way never ends, and may have left a part of itself.
    calls: AtomicUsize,
}

impl Watched {
    pub(crate) async fn begin(db: Arc<Database>, operation: &'static str) -> Result<Self, StoreError> {
        let connection = db.waiting(in_time(operation, Held::take_beside(&db), classify)).await?;
        let (connection, no) = (Mutex::new(Some(connection)), AtomicBool::default);
        let watched = Self {
            connection,
            is_open: AtomicBool::new(true),
            is_strange: no(),
            is_refused: no(),
            calls: AtomicUsize::default(),
            db,
        };
        let sql = &watched.db.sql.savepoint;
        let begin = match watched.db.health.servers.peers() {
            Peers::Group => sql.begin_group.text(),
            Peers::Apart | Peers::Galera => sql.begin.text(),
        };
        in_time(operation, watched.execute_unprepared(begin), classify).await?;
        Ok(watched)
    }

    /// Whether the transaction has seen plain statements only.
    pub(crate) fn is_plain(&self) -> bool {
        !self.is_strange.load(Ordering::Relaxed)
    }

    /// Whether it is on a connection that an outbox has proven to lead to this database of its own.
    pub(crate) fn is_of(&self, db: &Arc<Database>) -> bool {
        Arc::ptr_eq(&self.db, db)
    }

    pub(crate) fn call_begins(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn call_ends(&self) {
        self.calls.fetch_sub(1, Ordering::Relaxed);
    }

    /// The savepoint is released that was set when the transaction began, or renewed since: it is the same one, or the commit is
    /// refused.
    async fn commit(mut self) -> Result<(), StoreError> {
        if *self.calls.get_mut() > 0 {
            return Err(StoreError::new(StoreErrorKind::Unsupported, COMMIT, CUT_SHORT));
        }
        if self.is_plain() && self.connection.get_mut().is_none() {
            return Err(gone(COMMIT));
        }
        let last = if self.is_plain() { Last::own(&self.db) } else { Last::of_callers(&self.db) };
        let committed = in_time(COMMIT, last.send(&self), on_server).await;
        if let Err(error) = committed {
            self.db.note_trouble(&error);
            return Err(by_another_node(&self.db, error).await);
        }
        self.is_open.store(false, Ordering::Relaxed);
        Ok(())
    }

    async fn roll_back(self) -> Result<(), StoreError> {
        let sql = &self.db.sql.savepoint;
        in_time(ROLL_BACK, self.execute_unprepared(sql.roll_back.text()), classify).await?;
        self.is_open.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// The connection's place. Another statement waits for it until this one has its answer.
    async fn place(&self, text: &str) -> Place<'_> {
        let place = self.connection.lock().await;
        if !self.leaves_the_session(text) {
            self.is_strange.store(true, Ordering::Relaxed);
        }
        place
    }

    /// Keeps a connection whose statement was answered. A statement that was cut short takes its connection with it.
    fn keep<T>(&self, mut place: Place<'_>, connection: Link, done: Result<T, DbErr>) -> Result<T, DbErr> {
        if done.is_err() {
            self.is_refused.store(true, Ordering::Relaxed);
        }
        if done.as_ref().map_or_else(is_answer, |_| true) {
            *place = Some(connection);
        }
        done
    }

    /// Whether a text surely leaves the session, the transaction and its savepoints as they are, but for the outbox's own.
    fn leaves_the_session(&self, text: &str) -> bool {
        let sql = &self.db.sql.savepoint;
        let own = [
            &sql.begin,
            &sql.begin_group,
            &sql.renew,
            &sql.renew_galera,
            &sql.renew_group,
            &sql.undo,
            &sql.commit,
            &sql.commit_galera,
            &sql.commit_group,
            &sql.roll_back,
        ];
        let word = text.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let plain = PLAIN.iter().any(|plain| word.eq_ignore_ascii_case(plain)) && !text.contains(';');
        plain || text == Last::COMMIT || own.iter().any(|own| own.text() == text)
    }
}

type Place<'a> = MutexGuard<'a, Option<Link>>;

fn taken(place: &mut Place<'_>) -> Result<Link, DbErr> {
    place.take().ok_or(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed))
}

const CUT_SHORT: &str = "a call in this transaction has not ended, and may have written a part of what it had to; begin a new one \
                         and repeat everything in it";

/// Words that begin statements which neither change the session nor end a transaction.
const PLAIN: [&str; 5] = ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE"];

impl Drop for Watched {
    /// A clean connection goes back as it is, every other one is rolled back by the pool.
    fn drop(&mut self) {
        let Some(connection) = self.connection.get_mut().take() else { return };
        let _entered = self.db.runtime.enter();
        // Untested: `is_refused`, because a transaction that has ended leaves nothing in its connection
        match self.is_plain() && !*self.is_refused.get_mut() && !*self.is_open.get_mut() {
            true => Held::return_to_callers(&self.db, connection),
            false => drop(connection),
        }
    }
}

#[async_trait]
impl ConnectionTrait for Watched {
    fn get_database_backend(&self) -> DbBackend {
        self.db.dialect.backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let mut place = self.place(&statement.sql).await;
        let mut connection = taken(&mut place)?;
        let done = connection.execute_raw(statement).await;
        self.keep(place, connection, done)
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        let mut place = self.place(sql).await;
        let mut connection = taken(&mut place)?;
        let done = connection.execute_unprepared(sql).await;
        self.keep(place, connection, done)
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let mut place = self.place(&statement.sql).await;
        let mut connection = taken(&mut place)?;
        let found = connection.query_one_raw(statement).await;
        self.keep(place, connection, found)
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let mut place = self.place(&statement.sql).await;
        let mut connection = taken(&mut place)?;
        let found = connection.query_all_raw(statement).await;
        self.keep(place, connection, found)
    }
}

#[async_trait]
impl ConnectionTrait for OwnTransaction {
    fn get_database_backend(&self) -> DbBackend {
        self.db.dialect.backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        match &self.on {
            On::Driver(tx) => tx.execute_raw(statement).await,
            On::Watched(tx) => tx.execute_raw(statement).await,
        }
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        match &self.on {
            On::Driver(tx) => tx.execute_unprepared(sql).await,
            On::Watched(tx) => tx.execute_unprepared(sql).await,
        }
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        match &self.on {
            On::Driver(tx) => tx.query_one_raw(statement).await,
            On::Watched(tx) => tx.query_one_raw(statement).await,
        }
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        match &self.on {
            On::Driver(tx) => tx.query_all_raw(statement).await,
            On::Watched(tx) => tx.query_all_raw(statement).await,
        }
    }
}
