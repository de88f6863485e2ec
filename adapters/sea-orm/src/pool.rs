use std::time::Duration;

use sea_orm::ConnectOptions;
#[cfg(any(feature = "mysql", feature = "sqlite"))]
use sea_orm::sqlx::Executor;

use crate::{clock::FrozenClock, dialect::Dialect};

/// Connection settings under which a cancelled caller can lose nothing; use them for your own transactions too.
///
/// A future that is dropped while `BEGIN` is on its way leaves a pooled connection inside a transaction that nobody knows
/// of, and later writes on it are acknowledged and lost. Every connection therefore is rolled back, with a deadline, when
/// it returns to the pool. On MySQL and MariaDB the session is set once to READ COMMITTED, strict mode and short waits;
/// nothing is pinged before use; the statement cache is large enough that nothing is evicted. On SQLite the journal is a
/// write-ahead log and writers wait for each other.
#[derive(Clone, Debug)]
pub struct HardenedPool {
    /// The most connections; 10 unless told otherwise.
    pub max_connections: u32,
    /// How long to wait for a free connection.
    pub acquire_timeout: Duration,
    /// For tests: the time that every connection's server is told it is.
    pub frozen_clock: Option<FrozenClock>,
}

impl Default for HardenedPool {
    fn default() -> Self {
        Self { max_connections: 10, acquire_timeout: Duration::from_secs(10), frozen_clock: None }
    }
}

impl HardenedPool {
    const ROLLBACK_DEADLINE: Duration = Duration::from_millis(500);
    const STATEMENT_CACHE: usize = 512;

    /// The settings for a database URL, to be handed to [`sea_orm::Database::connect`].
    pub fn options(&self, url: &str) -> Result<ConnectOptions, String> {
        let dialect = Dialect::of_url(url)?;
        let mut options = ConnectOptions::new(url.to_owned());
        options
            .max_connections(self.max_connections)
            .min_connections(0)
            .acquire_timeout(self.acquire_timeout)
            .connect_timeout(self.acquire_timeout)
            .idle_timeout(Duration::from_secs(60))
            .test_before_acquire(false)
            .sqlx_logging(false);
        match dialect {
            #[cfg(feature = "mysql")]
            Dialect::MySql => self.harden_mysql(&mut options),
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => self.harden_sqlite(&mut options),
            #[allow(unreachable_patterns, reason = "a dialect whose feature is off was refused above")]
            _ => {}
        }
        Ok(options)
    }

    #[cfg(feature = "mysql")]
    fn harden_mysql(&self, options: &mut ConnectOptions) {
        use sea_orm::sqlx::{AssertSqlSafe, Error, mysql::MySqlPoolOptions};
        let session = crate::sql::text(include_str!("sql/mysql/session.sql"));
        let rollback = crate::sql::text(include_str!("sql/mysql/session_rollback.sql"));
        let frozen = self.frozen_clock.clone();
        options.map_sqlx_mysql_opts(|o| o.statement_cache_capacity(Self::STATEMENT_CACHE));
        options.map_sqlx_mysql_pool_opts(move |pool: MySqlPoolOptions| {
            let (session, rollback, frozen) = (session.clone(), rollback.clone(), frozen.clone());
            let at_connect = frozen.clone();
            let pool = pool.after_connect(move |connection, _| {
                let session = session.clone() + &set_timestamp(at_connect.as_ref());
                Box::pin(async move { connection.execute(AssertSqlSafe(session)).await.map(|_| ()) })
            });
            let pool = match frozen {
                Some(frozen) => pool.before_acquire(move |connection, _| {
                    let set = set_timestamp(Some(&frozen)).trim_start_matches(';').to_owned();
                    Box::pin(async move { connection.execute(AssertSqlSafe(set)).await.map(|_| true) })
                }),
                None => pool,
            };
            pool.after_release(move |connection, _| {
                let rollback = rollback.clone();
                Box::pin(async move {
                    let sent = connection.execute(AssertSqlSafe(rollback));
                    match tokio::time::timeout(Self::ROLLBACK_DEADLINE, sent).await {
                        Ok(answer) => answer.map(|_| true),
                        Err(_) => Err(Error::PoolTimedOut),
                    }
                })
            })
        });
    }

    #[cfg(feature = "sqlite")]
    fn harden_sqlite(&self, options: &mut ConnectOptions) {
        use sea_orm::sqlx::sqlite::{SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
        options.map_sqlx_sqlite_opts(|o| {
            o.create_if_missing(true)
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(SqliteSynchronous::Full)
                .busy_timeout(Duration::from_secs(5))
                .statement_cache_capacity(Self::STATEMENT_CACHE)
        });
        options.map_sqlx_sqlite_pool_opts(|pool: SqlitePoolOptions| {
            pool.after_release(|connection, _| {
                Box::pin(async move {
                    // Outside a transaction SQLite refuses to roll back, which is what we hope for.
                    let _ = connection.execute("ROLLBACK").await;
                    Ok(true)
                })
            })
        });
    }
}

/// Whether the driver will be able to read the URL.
pub(crate) fn is_readable(url: &str) -> bool {
    match Dialect::of_url(url) {
        #[cfg(feature = "mysql")]
        Ok(Dialect::MySql) => url.parse::<sea_orm::sqlx::mysql::MySqlConnectOptions>().is_ok(),
        #[cfg(feature = "sqlite")]
        Ok(Dialect::Sqlite) => url.parse::<sea_orm::sqlx::sqlite::SqliteConnectOptions>().is_ok(),
        _ => false,
    }
}

/// `; SET timestamp = ...`, or nothing without a frozen clock.
#[cfg(feature = "mysql")]
fn set_timestamp(frozen: Option<&FrozenClock>) -> String {
    frozen.map_or_else(String::new, |clock| {
        let micros = clock.micros();
        format!("; SET timestamp = {}.{:06}", micros / 1_000_000, micros % 1_000_000)
    })
}
