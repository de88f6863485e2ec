use std::{ops::Deref, time::Duration};

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult, Statement};

use super::{dialect::Dialect, health::Health};
#[cfg(feature = "mysql")]
use super::{link::Link, moves::Moves, store_timer::StoreTimer};

/// A pool on which each statement has a connection for itself, for a brief time.
///
/// sea-orm would wait at the pool although another server has been found to take writes, and would leave the return of the connection to sqlx,
/// which waits without a deadline for the answer to its ping.
pub(crate) struct Brief {
    pool: DatabaseConnection,
    /// How its connections are lent and returned; a pool that was handed in, and a file, are left to sea-orm.
    #[cfg(feature = "mysql")]
    lending: Option<Lending>,
}

#[cfg(feature = "mysql")]
struct Lending {
    moves: Moves,
    timer: StoreTimer,
    /// How long a statement waits for a connection.
    timeout: Duration,
}

impl Brief {
    /// On a pool of the outbox's own.
    #[cfg_attr(not(feature = "mysql"), allow(unused_variables, reason = "a file breaks no connections"))]
    pub(crate) fn on(pool: DatabaseConnection, dialect: Dialect, health: &Health, timeout: Duration) -> Self {
        Self {
            pool,
            #[cfg(feature = "mysql")]
            lending: (dialect == Dialect::MySql).then(|| Lending {
                moves: health.moves.clone(),
                timer: health.timer.clone(),
                timeout,
            }),
        }
    }

    /// On a pool that was handed in, of which its owner says how connections return.
    pub(crate) fn given(pool: DatabaseConnection) -> Self {
        Self {
            pool,
            #[cfg(feature = "mysql")]
            lending: None,
        }
    }

    /// Runs a statement unless `check` refuses it once its connection is there, which may be the first to another server.
    pub(crate) async fn execute_checked(
        &self,
        statement: Statement,
        check: impl FnOnce() -> Result<(), DbErr>,
    ) -> Result<ExecResult, DbErr> {
        #[cfg(feature = "mysql")]
        if let Some(Lending { moves, timer, timeout }) = &self.lending {
            let connect = || Link::of_pool(&self.pool, Dialect::MySql, timer);
            let mut link = moves.reaching(*timeout, connect).await?;
            check()?;
            return link.execute_raw(statement).await;
        }
        check()?;
        self.pool.execute_raw(statement).await
    }
}

impl Deref for Brief {
    type Target = DatabaseConnection;

    fn deref(&self) -> &DatabaseConnection {
        &self.pool
    }
}

/// Runs a statement on a connection that is lent for it, or leaves it to sea-orm.
macro_rules! lent {
    ($brief:expr, $call:ident($argument:expr)) => {{
        #[cfg(feature = "mysql")]
        if let Some(Lending { moves, timer, timeout }) = &$brief.lending {
            let connect = || Link::of_pool(&$brief.pool, Dialect::MySql, timer);
            let mut link = moves.reaching(*timeout, connect).await?;
            return link.$call($argument).await;
        }
        $brief.pool.$call($argument).await
    }};
}

#[async_trait]
impl ConnectionTrait for Brief {
    fn get_database_backend(&self) -> DbBackend {
        self.pool.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        lent!(self, execute_raw(statement))
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        lent!(self, execute_unprepared(sql))
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        lent!(self, query_one_raw(statement))
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        lent!(self, query_all_raw(statement))
    }
}
