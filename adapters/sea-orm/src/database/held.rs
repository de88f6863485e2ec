use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use claimstream_ports::{Measured, Pool};
use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult, Statement,
};
use tokio::sync::Mutex;

#[cfg(feature = "mysql")]
use super::connection_cache::{ConnectionCache, Reserve};
use super::{
    Database,
    classify::{classify, is_answer},
    commits::Commits,
    deadline::in_time,
    dialect::Dialect,
    link::Link,
};

/// One connection for a few statements in a row, at hand or from the pool; afterwards it is at hand again.
///
/// After a statement that got no answer the connection goes back to the pool at once, to be closed there, and the next
/// statement gets another one; within a transaction, or where the caller has
/// [connected](Self::connect) it, there is no next statement.
pub(crate) struct Held<'a> {
    db: &'a Database,
    /// It is from the callers' pool.
    of_callers: bool,
    connection: Mutex<Option<Link>>,
    commits: Commits,
    /// There is no other connection for it.
    alone: AtomicBool,
    in_transaction: AtomicBool,
    /// Something went wrong: the pool has to look at it.
    suspicious: AtomicBool,
}

impl<'a> Held<'a> {
    pub(crate) fn new(db: &'a Database) -> Self {
        Self::of(db, Commits::Itself)
    }

    /// One that saves the `BEGIN`, where the database can.
    pub(crate) fn for_transactions(db: &'a Database) -> Self {
        match db.dialect {
            Dialect::MySql => Self::of(db, Commits::Explicitly),
            Dialect::Sqlite => Self::of(db, Commits::Itself),
        }
    }

    fn of(db: &'a Database, commits: Commits) -> Self {
        let (connection, no) = (Mutex::default(), AtomicBool::default);
        Self {
            db,
            of_callers: false,
            connection,
            commits,
            alone: no(),
            in_transaction: no(),
            suspicious: no(),
        }
    }

    /// A connection in a transaction.
    pub(crate) async fn begin(db: &'a Database) -> Result<Self, DbErr> {
        Self::for_transactions(db).begun().await
    }

    /// The same on a connection of those that callers have.
    #[cfg(feature = "mysql")]
    pub(crate) async fn begin_beside(db: &'a Database) -> Result<Self, DbErr> {
        let mut held = Self::for_transactions(db);
        held.of_callers = true;
        held.begun().await
    }

    /// A connection of those that callers have, for a caller that returns it.
    #[cfg(feature = "mysql")]
    pub(crate) async fn take_beside(db: &'a Database) -> Result<Link, DbErr> {
        let mut held = Self::new(db);
        held.of_callers = true;
        held.connect().await?;
        let taken = held.connection.get_mut().take();
        taken.ok_or(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed))
    }

    /// Puts one of them at hand that is clean.
    #[cfg(feature = "mysql")]
    pub(crate) fn return_to_callers(db: &'a Database, connection: Link) {
        let mut held = Self::new(db);
        held.of_callers = true;
        *held.connection.get_mut() = Some(connection);
        held.rest();
    }

    async fn begun(self) -> Result<Self, DbErr> {
        self.connect().await?;
        self.start().await?;
        Ok(self)
    }

    /// Gets its connection, if it has none. Until it rests it gets no other one, so that no statement waits for one.
    pub(crate) async fn connect(&self) -> Result<(), DbErr> {
        let mut connection = self.connection.lock().await;
        if connection.is_none() {
            *connection = Some(self.find().await?);
            self.suspicious.store(false, Ordering::Relaxed);
        }
        self.alone.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Begins a transaction that takes its write lock first where the database has only one.
    pub(crate) async fn start(&self) -> Result<(), DbErr> {
        match (self.db.dialect, self.commits) {
            (Dialect::Sqlite, _) => self.execute_unprepared("BEGIN IMMEDIATE").await.map(drop)?,
            (Dialect::MySql, Commits::Itself) => self.execute_unprepared("BEGIN").await.map(drop)?,
            (Dialect::MySql, Commits::Explicitly) => {}
        }
        self.in_transaction.store(true, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn is_in_transaction(&self) -> bool {
        self.in_transaction.load(Ordering::Relaxed)
    }

    pub(crate) async fn end(&self, how: &'static str) -> Result<(), DbErr> {
        self.execute_unprepared(how).await?;
        self.in_transaction.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Undoes a transaction that went wrong; if that goes wrong too, the pool does it.
    pub(crate) async fn undo(&self) {
        if self.is_in_transaction() {
            let _ = in_time("roll back", self.end("ROLLBACK"), classify).await;
        }
    }

    /// Puts the connection at hand until the next statement.
    pub(crate) fn rest(&self) {
        let connection = self.connection.try_lock().ok().and_then(|mut connection| connection.take());
        let in_transaction = self.in_transaction.swap(false, Ordering::Relaxed);
        let sound = !in_transaction && !self.suspicious.load(Ordering::Relaxed);
        self.alone.store(false, Ordering::Relaxed);
        #[cfg(feature = "mysql")]
        if sound && let Some(Link::MySql(connection)) = connection {
            self.cache().keep(connection, self.commits, self.reserve(), &self.db.runtime);
        }
        #[cfg(not(feature = "mysql"))]
        drop((sound, connection));
    }

    async fn acquire(&self) -> Result<Link, DbErr> {
        if let Some(connection) = self.connection.lock().await.take() {
            return Ok(connection);
        }
        if self.is_in_transaction() || self.alone.load(Ordering::Relaxed) {
            return Err(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed));
        }
        self.find().await
    }

    /// One that is at hand, or one of the pool, that commits as it should.
    async fn find(&self) -> Result<Link, DbErr> {
        // Noted before the look into the cache, so that no connection is put there unseen right after it.
        #[cfg(feature = "mysql")]
        let wanted = self.cache().wanted();
        #[cfg(feature = "mysql")]
        if let Some((connection, commits)) = self.cache().take(self.commits, &self.db.health.outage) {
            drop(wanted);
            return self.committing(Link::MySql(connection), commits).await;
        }
        let connection = self.measured_of_pool().await?;
        #[cfg(feature = "mysql")]
        drop(wanted);
        self.committing(connection, Commits::Itself).await
    }

    /// One of the pool; how long that took is measured, also when it failed.
    async fn measured_of_pool(&self) -> Result<Link, DbErr> {
        let waited = self.db.timer().stopwatch();
        let connection = self.of_pool().await;
        let pool = if self.of_callers { Pool::Callers } else { Pool::Relay };
        self.db.measure(Measured::WaitedForConnection { pool, took: waited.elapsed() });
        connection
    }

    #[cfg(feature = "mysql")]
    async fn of_pool(&self) -> Result<Link, DbErr> {
        match self.of_callers && !self.db.callers.are_given {
            // Boxed, because the compiler gives up on futures that are nested so deeply.
            true => Box::pin(self.db.of_callers_at_home()).await,
            false => {
                let connect = || Link::of_pool(self.connections(), self.db.dialect, self.db.timer());
                self.db.health.moves.reaching(self.db.limits.acquire_timeout, connect).await
            }
        }
    }

    #[cfg(not(feature = "mysql"))]
    async fn of_pool(&self) -> Result<Link, DbErr> {
        Link::of_pool(self.connections(), self.db.dialect, self.db.timer()).await
    }

    #[cfg(feature = "mysql")]
    fn reserve(&self) -> Reserve {
        let pool = self.connections().get_mysql_connection_pool();
        match pool.num_idle() == 0 && pool.size() >= pool.options().get_max_connections() {
            true => Reserve::UsedUp,
            false => Reserve::Left,
        }
    }

    fn connections(&self) -> &DatabaseConnection {
        if self.of_callers { self.db.callers() } else { self.db.relay() }
    }

    #[cfg(feature = "mysql")]
    fn cache(&self) -> &ConnectionCache {
        if self.of_callers { &self.db.callers.cache } else { &self.db.relay.cache }
    }

    async fn committing(&self, mut connection: Link, now: Commits) -> Result<Link, DbErr> {
        match self.commits {
            commits if commits == now => {}
            Commits::Itself => connection.execute_unprepared("SET autocommit = 1").await.map(drop)?,
            Commits::Explicitly => connection.execute_unprepared("SET autocommit = 0").await.map(drop)?,
        }
        Ok(connection)
    }

    /// Keeps a connection whose statement was answered.
    async fn keep<T>(&self, connection: Link, done: Result<T, DbErr>) -> Result<T, DbErr> {
        if done.is_err() {
            self.suspicious.store(true, Ordering::Relaxed);
        }
        if done.as_ref().map_or_else(is_answer, |_| true) {
            *self.connection.lock().await = Some(connection);
        }
        done
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.rest();
    }
}

#[async_trait]
impl ConnectionTrait for Held<'_> {
    fn get_database_backend(&self) -> DbBackend {
        self.db.relay().get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let mut connection = self.acquire().await?;
        let answer = connection.execute_raw(statement).await;
        self.keep(connection, answer).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        let mut connection = self.acquire().await?;
        let answer = connection.execute_unprepared(sql).await;
        self.keep(connection, answer).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let mut connection = self.acquire().await?;
        let answer = connection.query_one_raw(statement).await;
        self.keep(connection, answer).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let mut connection = self.acquire().await?;
        let answer = connection.query_all_raw(statement).await;
        self.keep(connection, answer).await
    }
}
