use async_trait::async_trait;
use claimstream_domain::{Enqueued, NewMessage};
use claimstream_ports::StoreError;
use sea_orm::{
    ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr, Statement,
    sqlx::{self, AssertSqlSafe, Executor, MySqlConnection},
};
use sea_query_sqlx::SqlxValues;
use tokio::sync::Mutex;

use crate::outbox::SeaOrmOutbox;

/// A sqlx connection, or a sqlx transaction's, that sea-orm can run statements on.
///
/// Callers who write their business data with sqlx enqueue with it: `outbox.enqueue_sqlx(&mut *tx, &messages)`.
pub struct SqlxMySql<'c>(Mutex<&'c mut MySqlConnection>);

impl<'c> SqlxMySql<'c> {
    /// Borrows the connection.
    pub fn new(connection: &'c mut MySqlConnection) -> Self {
        Self(Mutex::new(connection))
    }
}

impl SeaOrmOutbox {
    /// Enqueues in a transaction of sqlx; a connection that is not in one is refused, as by
    /// [`enqueue_on`](Self::enqueue_on).
    pub async fn enqueue_sqlx(
        &self,
        connection: &mut MySqlConnection,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.enqueue_on(&SqlxMySql::new(connection), messages).await
    }
}

#[async_trait]
impl ConnectionTrait for SqlxMySql<'_> {
    fn get_database_backend(&self) -> DbBackend {
        DbBackend::MySql
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let mut connection = self.0.lock().await;
        let done = bound(&statement).execute(&mut **connection).await;
        done.map(Into::into).map_err(|e| DbErr::Exec(RuntimeErr::SqlxError(e.into())))
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        let mut connection = self.0.lock().await;
        let done = (&mut **connection).execute(AssertSqlSafe(sql.to_owned())).await;
        done.map(Into::into).map_err(|e| DbErr::Exec(RuntimeErr::SqlxError(e.into())))
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let mut connection = self.0.lock().await;
        let found = bound(&statement).fetch_optional(&mut **connection).await;
        found.map(|row| row.map(Into::into)).map_err(|e| DbErr::Query(RuntimeErr::SqlxError(e.into())))
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let mut connection = self.0.lock().await;
        let found = bound(&statement).fetch_all(&mut **connection).await;
        let rows = found.map(|rows| rows.into_iter().map(Into::into).collect());
        rows.map_err(|e| DbErr::Query(RuntimeErr::SqlxError(e.into())))
    }
}

fn bound(statement: &Statement) -> sqlx::query::Query<'_, sqlx::MySql, SqlxValues> {
    let values = statement.values.clone().unwrap_or_else(|| sea_orm::sea_query::Values(Vec::new()));
    sqlx::query_with(AssertSqlSafe(statement.sql.as_str()), SqlxValues(values))
}
