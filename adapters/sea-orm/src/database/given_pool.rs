use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{
    DatabaseConnection, DatabaseConnectionType, SqliteTransactionMode, TransactionOptions, TransactionTrait,
};

#[cfg(feature = "mysql")]
use super::connection_cache::ConnectionCache;
use super::{
    args::Args,
    brief::Brief,
    caller_pool::CallerPool,
    classify::classify,
    dialect::Dialect,
    identity::Identity,
    link::Link,
    server::server_variables,
    session_setting::{SessionSetting, unfit_mode},
    unit::rows,
};
use crate::database::{statements::Statements, store_timer::StoreTimer};

const OPEN: &str = "open";

/// A pool that a service has given to its outbox, for callers.
#[derive(Clone)]
pub(crate) struct GivenPool {
    pub(crate) db: DatabaseConnection,
    /// A URL of its kind and no more: the driver cannot write every connect option as one.
    pub(crate) url: &'static str,
    pub(crate) most: u32,
    pub(crate) timeout: std::time::Duration,
}

impl GivenPool {
    pub(crate) fn of(db: DatabaseConnection) -> Result<Self, StoreError> {
        let (url, most, timeout) = match &db.inner {
            #[cfg(feature = "mysql")]
            DatabaseConnectionType::SqlxMySqlPoolConnection(_) => {
                let pool = db.get_mysql_connection_pool();
                if pool.connect_options().get_database().is_none() {
                    return Err(refused(
                        "the pool's connect options name no database; name the outbox's own",
                    ));
                }
                let settings = pool.options();
                ("mysql://given/pool", settings.get_max_connections(), settings.get_acquire_timeout())
            }
            #[cfg(feature = "sqlite")]
            DatabaseConnectionType::SqlxSqlitePoolConnection(_) => {
                let pool = db.get_sqlite_connection_pool();
                let options = pool.connect_options();
                let file = options.get_filename().to_string_lossy();
                if file.contains(":memory:") || file.starts_with("file:sqlx-in-memory") {
                    let why = "SQLite in memory is another database for every connection; name a file";
                    return Err(refused(why));
                }
                let settings = pool.options();
                ("sqlite://given.pool", settings.get_max_connections(), settings.get_acquire_timeout())
            }
            _ => return Err(refused("the pool is none of sqlx; hand in one of MySQL, MariaDB or SQLite")),
        };
        Ok(Self { url, most, timeout, db })
    }

    /// The pool as callers have it.
    #[cfg_attr(
        not(feature = "mysql"),
        allow(unused_variables, reason = "a file keeps no connection at hand")
    )]
    pub(super) fn for_callers(&self, timer: &StoreTimer) -> CallerPool {
        CallerPool {
            connections: Brief::given(self.db.clone()),
            most: self.most,
            timeout: self.timeout,
            #[cfg(feature = "mysql")]
            are_given: true,
            #[cfg(feature = "mysql")]
            cache: ConnectionCache::closed(timer.clone()),
        }
    }

    /// Refuses a pool on which messages could be lost.
    pub(crate) async fn check(
        &self,
        own: &DatabaseConnection,
        dialect: Dialect,
        sql: &Statements,
        identity: Identity,
        relay_connections: u32,
        timer: &StoreTimer,
    ) -> Result<(), StoreError> {
        match Identity::read(&self.db, OPEN, sql).await {
            Ok(found) if found == Some(identity) => {}
            Err(error) if error.is_retryable() => return Err(error),
            _ => {
                let why = "the pool's connections do not lead to the database that its connect options name; name \
                           that one there, instead of changing it with USE or ATTACH";
                return Err(refused(why));
            }
        }
        if dialect == Dialect::MySql {
            self.check_session(sql, relay_connections).await?;
        }
        match self.rolls_back(own, dialect, sql, timer).await? {
            true => Ok(()),
            false => {
                self.clear(dialect, timer).await;
                let why = "the pool does not roll back what is left open on a connection that comes back, so writes that were \
                           acknowledged could be lost; give it an after_release that sends ROLLBACK, or make it with \
                           HardenedPool::options";
                Err(refused(why))
            }
        }
    }

    async fn check_session(&self, sql: &Statements, relay_connections: u32) -> Result<(), StoreError> {
        let variables = server_variables(&self.db, sql).await?;
        let read = |name: &str| variables.get(name).map_or("", String::as_str);
        let allowed: u32 = read("max_connections").parse().unwrap_or(u32::MAX);
        if self.most.saturating_add(relay_connections) > allowed {
            return Err(refused(format!(
                "the pool has up to {} connections and the outbox {relay_connections} more, and the server takes {allowed}; \
                 lower the pool's max_connections or relay_connections, or raise the server's",
                self.most
            )));
        }
        let unfit = SessionSetting::ALL.iter().find(|it| it.matters_to_callers && !it.holds(read));
        if let Some(setting) = unfit {
            return Err(refused(format!("on the pool's connections {}", setting.refusal(read))));
        }
        if let Some(why) = unfit_mode(read("sql_mode")) {
            return Err(refused(format!("sql_mode of the pool's connections {why}")));
        }
        match read("character_set_client") {
            "utf8mb4" => Ok(()),
            other => Err(refused(format!(
                "the character set of the pool's connections is {other}; set charset=utf8mb4 in its connect options"
            ))),
        }
    }

    /// Leaves a transaction open on a connection, as a cancelled `BEGIN` does, and looks whether its lock is free once it is
    /// back. Neither waits for the other pool while it holds a connection of its own.
    async fn rolls_back(
        &self,
        own: &DatabaseConnection,
        dialect: Dialect,
        sql: &Statements,
        timer: &StoreTimer,
    ) -> Result<bool, StoreError> {
        let failed = |e| classify(OPEN, e);
        let mut leaking = Link::of_pool(&self.db, dialect, timer).await.map_err(failed)?;
        let seen = match dialect {
            Dialect::MySql => {
                leaking.execute_unprepared("BEGIN").await.map_err(failed)?;
                leaking.query_all_raw(sql.probe.lock.bind(&Args::new())).await.map_err(failed)?;
                drop(leaking);
                rows(own, OPEN, sql.probe.lock.bind(&Args::new())).await.map(drop)
            }
            Dialect::Sqlite => {
                leaking.execute_unprepared("BEGIN IMMEDIATE").await.map_err(failed)?;
                drop(leaking);
                let sqlite_transaction_mode = Some(SqliteTransactionMode::Immediate);
                let witness = TransactionOptions { sqlite_transaction_mode, ..Default::default() };
                match own.begin_with_options(witness).await {
                    Ok(witness) => witness.rollback().await.map_err(failed),
                    Err(error) => Err(failed(error)),
                }
            }
        };
        match seen {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == StoreErrorKind::Transient => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Rolls back what the look has left open in a pool that does not do it.
    async fn clear(&self, dialect: Dialect, timer: &StoreTimer) {
        let idle = match dialect {
            #[cfg(feature = "mysql")]
            Dialect::MySql => self.db.get_mysql_connection_pool().num_idle(),
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => self.db.get_sqlite_connection_pool().num_idle(),
            #[allow(unreachable_patterns, reason = "a dialect whose feature is off was refused before")]
            _ => 0,
        };
        let mut cleared = Vec::new();
        for _ in 0..idle {
            let Ok(mut link) = Link::of_pool(&self.db, dialect, timer).await else { return };
            // SQLite refuses to roll back where there is nothing, which is as good.
            let _ = link.execute_unprepared("ROLLBACK").await;
            cleared.push(link);
        }
    }
}

pub(crate) fn refused(why: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::Misconfigured, "open a pool", why.into())
}
