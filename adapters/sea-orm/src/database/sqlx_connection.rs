use async_trait::async_trait;
use sea_orm::{
    ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr, Statement,
    sqlx::{self, AssertSqlSafe, Executor},
};
use sea_query_sqlx::SqlxValues;
use tokio::sync::Mutex;

macro_rules! sqlx_connection {
    ($(#[$doc:meta])* $name:ident, $database:ty, $connection:ty, $backend:expr) => {
        $(#[$doc])*
        pub struct $name<'c>(Mutex<&'c mut $connection>);

        impl<'c> $name<'c> {
            /// Borrows the connection.
            pub fn new(connection: &'c mut $connection) -> Self {
                Self(Mutex::new(connection))
            }

            fn bound(statement: Statement) -> sqlx::query::Query<'static, $database, SqlxValues> {
                let values = statement.values.unwrap_or_else(|| sea_orm::sea_query::Values(Vec::new()));
                sqlx::query_with(AssertSqlSafe(statement.sql), SqlxValues(values))
            }
        }

        #[async_trait]
        impl ConnectionTrait for $name<'_> {
            fn get_database_backend(&self) -> DbBackend {
                $backend
            }

            async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
                let mut connection = self.0.lock().await;
                let done = Self::bound(statement).execute(&mut **connection).await;
                done.map(Into::into).map_err(|e| DbErr::Exec(RuntimeErr::SqlxError(e.into())))
            }

            async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
                let mut connection = self.0.lock().await;
                let done = (&mut **connection).execute(AssertSqlSafe(sql.to_owned())).await;
                done.map(Into::into).map_err(|e| DbErr::Exec(RuntimeErr::SqlxError(e.into())))
            }

            async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
                let mut connection = self.0.lock().await;
                let found = Self::bound(statement).fetch_optional(&mut **connection).await;
                found.map(|row| row.map(Into::into)).map_err(|e| DbErr::Query(RuntimeErr::SqlxError(e.into())))
            }

            async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
                let mut connection = self.0.lock().await;
                let found = Self::bound(statement).fetch_all(&mut **connection).await;
                let rows = found.map(|rows| rows.into_iter().map(Into::into).collect());
                rows.map_err(|e| DbErr::Query(RuntimeErr::SqlxError(e.into())))
            }
        }
    };
}

#[cfg(feature = "mysql")]
sqlx_connection!(
    /// A sqlx connection to MySQL or MariaDB, or a sqlx transaction's, that sea-orm can run statements on.
    ///
    /// For callers that write their business data with sqlx: `outbox.enqueue_sqlx(&mut *tx, &messages)`.
    SqlxMySql,
    sqlx::MySql,
    sqlx::MySqlConnection,
    DbBackend::MySql
);

#[cfg(feature = "sqlite")]
sqlx_connection!(
    /// A sqlx connection to SQLite, or a sqlx transaction's, that sea-orm can run statements on.
    ///
    /// For callers that write their business data with sqlx: `outbox.enqueue_sqlx_sqlite(&mut *tx, &messages)`.
    SqlxSqlite,
    sqlx::Sqlite,
    sqlx::SqliteConnection,
    DbBackend::Sqlite
);
