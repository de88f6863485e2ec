use std::pin::Pin;

#[cfg(feature = "mysql")]
use sea_orm::sqlx::MySql;
#[cfg(feature = "sqlite")]
use sea_orm::sqlx::Sqlite;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbErr, ExecResult, QueryResult, RuntimeErr, Statement,
    sqlx::{self, ConnectOptions, pool::PoolConnection},
};

#[cfg(feature = "sqlite")]
use crate::database::sqlx_connection::SqlxSqlite;
use crate::database::{dialect::Dialect, store_timer::StoreTimer};
#[cfg(feature = "mysql")]
use crate::database::{lent::Lent, sqlx_connection::SqlxMySql, statements::Statements};

/// A connection of the pool, whatever its driver.
pub(crate) enum Link {
    #[cfg(feature = "mysql")]
    MySql(Lent),
    #[cfg(feature = "sqlite")]
    Sqlite(PoolConnection<Sqlite>),
}

type Acquiring<D> = Pin<Box<dyn Future<Output = Result<PoolConnection<D>, sqlx::Error>> + Send>>;

/// Calls the same on the connection, whichever it is.
macro_rules! on {
    ($link:expr, $call:ident($argument:expr)) => {
        match $link {
            #[cfg(feature = "mysql")]
            Link::MySql(connection) => SqlxMySql::new(connection).$call($argument).await,
            #[cfg(feature = "sqlite")]
            Link::Sqlite(connection) => SqlxSqlite::new(connection).$call($argument).await,
            #[allow(unreachable_patterns, reason = "without a driver there is no connection")]
            _ => Err(DbErr::Custom(NO_DRIVER.into())),
        }
    };
}

const NO_DRIVER: &str = "no driver of ours is built in";

impl Link {
    /// Waits for a connection of the pool. A new one takes twenty futures of the driver, one inside the other. They are boxed
    /// here, because the compiler gives up on futures that are nested too deeply, in our callers' crates too.
    pub(crate) async fn of_pool(
        db: &DatabaseConnection,
        dialect: Dialect,
        timer: &StoreTimer,
    ) -> Result<Self, DbErr> {
        let _ = timer; // a file needs none
        match dialect {
            #[cfg(feature = "mysql")]
            Dialect::MySql => (Box::pin(db.get_mysql_connection_pool().acquire()) as Acquiring<MySql>)
                .await
                .map(|connection| Self::MySql(Lent::of(connection, timer.clone())))
                .map_err(refused),
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => (Box::pin(db.get_sqlite_connection_pool().acquire()) as Acquiring<Sqlite>)
                .await
                .map(Self::Sqlite)
                .map_err(refused),
            #[allow(unreachable_patterns, reason = "a dialect whose feature is off was refused at open")]
            _ => Err(DbErr::Custom(NO_DRIVER.into())),
        }
    }

    /// Does not go back to the pool, which opens another one instead.
    #[cfg(feature = "mysql")]
    pub(crate) fn close_when_dropped(&mut self) {
        match self {
            Self::MySql(connection) => connection.close_when_dropped(),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => connection.close_on_drop(),
        }
    }

    pub(crate) async fn execute_raw(&mut self, statement: Statement) -> Result<ExecResult, DbErr> {
        on!(self, execute_raw(statement))
    }

    pub(crate) async fn execute_unprepared(&mut self, sql: &str) -> Result<ExecResult, DbErr> {
        on!(self, execute_unprepared(sql))
    }

    pub(crate) async fn query_one_raw(&mut self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        on!(self, query_one_raw(statement))
    }

    pub(crate) async fn query_all_raw(&mut self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        on!(self, query_all_raw(statement))
    }
}

/// Asks one question on a connection that is opened and set up for it outside of the pool, however long others keep those of the pool.
pub(crate) async fn ask_on_separate_connection(
    db: &DatabaseConnection,
    dialect: Dialect,
    question: Statement,
) -> Result<Vec<QueryResult>, DbErr> {
    match dialect {
        #[cfg(feature = "mysql")]
        Dialect::MySql => {
            let mut connection = set_up(&db.get_mysql_connection_pool().connect_options()).await?;
            let answer = SqlxMySql::new(&mut connection).query_all_raw(question).await;
            let _ = sqlx::Connection::close(connection).await;
            answer
        }
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => {
            let options = db.get_sqlite_connection_pool().connect_options();
            let mut connection = options.connect().await.map_err(refused)?;
            let answer = SqlxSqlite::new(&mut connection).query_all_raw(question).await;
            let _ = sqlx::Connection::close(connection).await;
            answer
        }
        #[allow(unreachable_patterns, reason = "a dialect whose feature is off was refused at open")]
        _ => Err(DbErr::Custom(NO_DRIVER.into())),
    }
}

/// A connection outside of the pool, set up as those of the pool are.
#[cfg(feature = "mysql")]
async fn set_up(options: &sqlx::mysql::MySqlConnectOptions) -> Result<sqlx::MySqlConnection, DbErr> {
    let mut connection = options.connect().await.map_err(refused)?;
    let setup = Statements::of(Dialect::MySql).session.setup.text();
    SqlxMySql::new(&mut connection).execute_unprepared(setup).await?;
    Ok(connection)
}

/// Asks a server for its time outside of the pool: a user whose password has expired may connect and change settings all the same.
#[cfg(feature = "mysql")]
pub(crate) async fn try_separate_connection(options: &sqlx::mysql::MySqlConnectOptions) -> Result<(), DbErr> {
    let mut connection = set_up(options).await?;
    let now = Statements::of(Dialect::MySql).session.now.text();
    SqlxMySql::new(&mut connection).execute_unprepared(now).await?;
    let _ = sqlx::Connection::close(connection).await;
    Ok(())
}

fn refused(error: sqlx::Error) -> DbErr {
    DbErr::Conn(RuntimeErr::SqlxError(error.into()))
}
