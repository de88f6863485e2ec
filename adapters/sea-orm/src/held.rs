use async_trait::async_trait;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr, Statement,
    sqlx::{MySql, pool::PoolConnection},
};
use tokio::sync::Mutex;

use crate::{classify::is_answer, sqlx_connection::SqlxMySql};

/// One connection for a few statements in a row: every return to the pool costs two round trips.
///
/// It is taken from the pool for the first statement. After a statement that got no answer it goes back at once, to be
/// closed there, and the next statement gets another one.
pub(crate) struct Held<'a> {
    db: &'a DatabaseConnection,
    connection: Mutex<Option<PoolConnection<MySql>>>,
}

impl<'a> Held<'a> {
    pub(crate) fn new(db: &'a DatabaseConnection) -> Self {
        Self { db, connection: Mutex::default() }
    }

    async fn acquire(&self) -> Result<PoolConnection<MySql>, DbErr> {
        match self.connection.lock().await.take() {
            Some(connection) => Ok(connection),
            None => {
                let acquired = self.db.get_mysql_connection_pool().acquire().await;
                acquired.map_err(|e| DbErr::Conn(RuntimeErr::SqlxError(e.into())))
            }
        }
    }

    /// Keeps a connection whose statement was answered.
    async fn keep<T>(&self, connection: PoolConnection<MySql>, done: Result<T, DbErr>) -> Result<T, DbErr> {
        if done.as_ref().map_or_else(is_answer, |_| true) {
            *self.connection.lock().await = Some(connection);
        }
        done
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
