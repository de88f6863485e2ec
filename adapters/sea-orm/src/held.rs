use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult,
    RuntimeErr, Statement,
    sqlx::{MySql, pool::PoolConnection},
};
use tokio::sync::Mutex;

use crate::{
    berth::{Berth, Commits},
    classify::is_answer,
    sqlx_connection::SqlxMySql,
    unit::Store,
};

/// One connection for a few statements in a row, at hand or from the pool; afterwards it is at hand again.
///
/// After a statement that got no answer the connection goes back to the pool at once, to be closed there, and the next
/// statement gets another one; within a transaction there is no next statement.
pub(crate) struct Held<'a> {
    store: &'a Store,
    db: &'a DatabaseConnection,
    berth: &'a Berth,
    connection: Mutex<Option<PoolConnection<MySql>>>,
    commits: Commits,
    in_transaction: AtomicBool,
    /// Something went wrong: the pool has to look at it.
    suspicious: AtomicBool,
}

impl<'a> Held<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self::of(store, (&store.db, &store.berth), Commits::Itself)
    }

    fn of(store: &'a Store, (db, berth): (&'a DatabaseConnection, &'a Berth), commits: Commits) -> Self {
        let (connection, no) = (Mutex::default(), AtomicBool::default);
        Self { store, db, berth, connection, commits, in_transaction: no(), suspicious: no() }
    }

    /// A connection in a transaction. One that is at hand needs no word for that.
    pub(crate) async fn begin(store: &'a Store) -> Result<Self, DbErr> {
        Self::begin_on(store, (&store.db, &store.berth)).await
    }

    /// The same on a connection of those that callers have.
    pub(crate) async fn begin_beside(store: &'a Store) -> Result<Self, DbErr> {
        Self::begin_on(store, (&store.callers.db, &store.callers.berth)).await
    }

    async fn begin_on(store: &'a Store, pool: (&'a DatabaseConnection, &'a Berth)) -> Result<Self, DbErr> {
        let mut held = Self::of(store, pool, Commits::WhenTold);
        held.connection = Mutex::new(held.berth.leave(Commits::WhenTold, &store.outage));
        if held.connection.get_mut().is_none() {
            held.execute_unprepared("SET autocommit = 0").await?;
        }
        held.in_transaction = AtomicBool::new(true);
        Ok(held)
    }

    pub(crate) async fn end(self, how: &'static str) -> Result<(), DbErr> {
        self.execute_unprepared(how).await?;
        self.in_transaction.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Gets a connection before there is a statement for it.
    pub(crate) async fn connect(&self) -> Result<(), DbErr> {
        let connection = self.acquire().await?;
        *self.connection.lock().await = Some(connection);
        Ok(())
    }

    /// Puts the connection at hand until the next statement.
    pub(crate) fn rest(&self) {
        let connection = self.connection.try_lock().ok().and_then(|mut connection| connection.take());
        let sound = !self.in_transaction.load(Ordering::Relaxed) && !self.suspicious.load(Ordering::Relaxed);
        if let (true, Some(connection)) = (sound, connection) {
            self.berth.moor(connection, self.commits, &self.store.runtime);
        }
    }

    async fn acquire(&self) -> Result<PoolConnection<MySql>, DbErr> {
        if let Some(connection) = self.connection.lock().await.take() {
            return Ok(connection);
        }
        if self.in_transaction.load(Ordering::Relaxed) {
            return Err(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed));
        }
        if self.commits == Commits::Itself
            && let Some(connection) = self.berth.leave(Commits::Itself, &self.store.outage)
        {
            return Ok(connection);
        }
        let acquired = self.db.get_mysql_connection_pool().acquire().await;
        acquired.map_err(|e| DbErr::Conn(RuntimeErr::SqlxError(e.into())))
    }

    /// Keeps a connection whose statement was answered.
    async fn keep<T>(&self, connection: PoolConnection<MySql>, done: Result<T, DbErr>) -> Result<T, DbErr> {
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
        DbBackend::MySql
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let mut connection = self.acquire().await?;
        let done = SqlxMySql::new(&mut connection).execute_raw(statement).await;
        self.keep(connection, done).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        let mut connection = self.acquire().await?;
        let done = SqlxMySql::new(&mut connection).execute_unprepared(sql).await;
        self.keep(connection, done).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let mut connection = self.acquire().await?;
        let found = SqlxMySql::new(&mut connection).query_one_raw(statement).await;
        self.keep(connection, found).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let mut connection = self.acquire().await?;
        let found = SqlxMySql::new(&mut connection).query_all_raw(statement).await;
        self.keep(connection, found).await
    }
}
