use std::time::Duration;

use sea_orm::ConnectOptions;
#[cfg(any(feature = "mysql", feature = "sqlite"))]
use sea_orm::sqlx::Executor;

use super::{
    clock::FrozenClock, dialect::Dialect, given_pool::GivenPool, health::Health, store_timer::StoreTimer,
};
#[cfg(feature = "mysql")]
use crate::database::{
    lent::is_clean, nodes::addresses::ServerAddresses, statements::Statements, topology::place::Place,
};
#[cfg(feature = "mysql")]
use sea_orm::sqlx::{self, Row, mysql::MySqlRow};

/// Connection settings under which a cancelled caller can lose nothing; use them for your own transactions too.
///
/// A future that is dropped while `BEGIN` is on its way leaves a pooled connection inside a transaction that no caller knows
/// of, and later writes on it are acknowledged and lost. Every connection therefore is rolled back, with a deadline, when
/// it returns to the pool. On MySQL and MariaDB the session is set once to READ COMMITTED, strict mode and short waits;
/// nothing is pinged before use; the statement cache is large enough that nothing is evicted. On SQLite the journal is a
/// write-ahead log and writers wait for each other.
#[derive(Clone, Debug)]
pub struct HardenedPool {
    /// The most connections; 10 by default.
    pub max_connections: u32,
    /// How long to wait for a free connection, a day at most.
    pub acquire_timeout: Duration,
    /// For tests: the time that every connection sets at its server.
    pub frozen_clock: Option<FrozenClock>,
}

/// How long statements wait for a locked row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockWaits {
    /// As long as sessions of the outbox do.
    OfSession,
    /// No longer than they must.
    Short,
}

impl Default for HardenedPool {
    fn default() -> Self {
        Self { max_connections: 10, acquire_timeout: Duration::from_secs(10), frozen_clock: None }
    }
}

impl HardenedPool {
    /// The driver adds it to a moment, which must not overflow.
    const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);
    const ROLLBACK_DEADLINE: Duration = Duration::from_millis(500);
    const STATEMENT_CACHE: usize = 512;

    /// The settings for a database URL, to be handed to [`sea_orm::Database::connect`].
    pub fn options(&self, url: &str) -> Result<ConnectOptions, String> {
        self.options_with(url, None, Health::new(StoreTimer::default()), LockWaits::OfSession)
    }

    /// The same for a pool whose connections are closed when they are older than an outage, and say which server they lead to;
    /// They connect as those of `given` do, if it is there; a
    /// URL cannot say all of that.
    pub(crate) fn options_with(
        &self,
        url: &str,
        given: Option<&GivenPool>,
        health: Health,
        lock_waits: LockWaits,
    ) -> Result<ConnectOptions, String> {
        let dialect = Dialect::of_url(url)?;
        refuse_unreadable(url, dialect)?;
        if self.acquire_timeout > Self::LONGEST_WAIT {
            return Err("acquire_timeout is longer than a day; set a day or less".into());
        }
        let mut options = ConnectOptions::new(url.to_owned());
        options
            .max_connections(self.max_connections)
            .min_connections(0)
            .acquire_timeout(self.acquire_timeout)
            .connect_timeout(self.acquire_timeout)
            .idle_timeout(Duration::from_secs(30))
            .test_before_acquire(false)
            .sqlx_logging(false);
        match dialect {
            #[cfg(feature = "mysql")]
            Dialect::MySql => {
                let given = given.map(|given| given.db.get_mysql_connection_pool().connect_options());
                options.map_sqlx_mysql_opts(move |of_url| {
                    let options = given.as_deref().map_or(of_url, as_given);
                    options.statement_cache_capacity(Self::STATEMENT_CACHE)
                });
                self.harden_mysql(&mut options, health, lock_waits)
            }
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => {
                // A file does not break connections.
                let _ = (health, lock_waits);
                let given = given.map(|given| given.db.get_sqlite_connection_pool().connect_options());
                self.harden_sqlite(&mut options, given.as_deref().cloned())
            }
            #[allow(unreachable_patterns, reason = "a dialect whose feature is off was refused above")]
            _ => {}
        }
        Ok(options)
    }

    #[cfg(feature = "mysql")]
    fn harden_mysql(&self, options: &mut ConnectOptions, health: Health, lock_waits: LockWaits) {
        use sea_orm::sqlx::{AssertSqlSafe, mysql::MySqlPoolOptions};
        let sql = &Statements::of(Dialect::MySql).session;
        let which = sql.server.text();
        let mut session = sql.setup.text().to_owned();
        if lock_waits == LockWaits::Short {
            session = session + "; " + sql.short_lock_wait.text();
        }
        let rollback = sql.rollback.text();
        let frozen = self.frozen_clock.clone();
        let Health { timer, outage, servers, nodes, .. } = health;
        options.map_sqlx_mysql_pool_opts(move |pool: MySqlPoolOptions| {
            let (session, frozen) = (session.clone(), frozen.clone());
            let (servers, nodes) = (servers.clone(), nodes.clone());
            let at_connect = frozen.clone();
            let pool = pool.after_connect(move |connection, _| {
                let session = session.clone() + &set_timestamp(at_connect.as_ref());
                let (which, servers, nodes) = (which, servers.clone(), nodes.clone());
                Box::pin(async move {
                    if let Some(nodes) = nodes {
                        nodes.check(connection).await?;
                    }
                    connection.execute(AssertSqlSafe(session)).await?;
                    let said = connection.fetch_all(AssertSqlSafe(which)).await?;
                    servers.connected(&place_of(&said)?).map_err(sqlx::Error::Protocol)
                })
            });
            let outage = outage.clone();
            let pool = pool.before_acquire(move |connection, it| {
                let trusted = outage.trusts(it.age);
                let set = set_timestamp(frozen.as_ref()).trim_start_matches(';').to_owned();
                Box::pin(async move {
                    if trusted && !set.is_empty() {
                        connection.execute(AssertSqlSafe(set)).await?;
                    }
                    Ok(trusted)
                })
            });
            let timer = timer.clone();
            pool.after_release(move |connection, _| {
                let timer = timer.clone();
                Box::pin(async move {
                    if is_clean() {
                        return Ok(true);
                    }
                    in_time(&timer, connection.execute(AssertSqlSafe(rollback))).await.map(|_| true)
                })
            })
        });
    }

    #[cfg(feature = "sqlite")]
    fn harden_sqlite(
        &self,
        options: &mut ConnectOptions,
        given: Option<sea_orm::sqlx::sqlite::SqliteConnectOptions>,
    ) {
        use sea_orm::sqlx::sqlite::{SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
        options.map_sqlx_sqlite_opts(move |of_url| {
            let options = given.clone().unwrap_or(of_url);
            options
                .create_if_missing(true)
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

/// The answer to a rollback on release; an error that says which one if none comes in time.
#[cfg(feature = "mysql")]
async fn in_time<T>(
    timer: &StoreTimer,
    rolled_back: impl Future<Output = Result<T, sea_orm::sqlx::Error>>,
) -> Result<T, sea_orm::sqlx::Error> {
    let deadline = HardenedPool::ROLLBACK_DEADLINE;
    timer.timeout(deadline, rolled_back).await.unwrap_or_else(|| {
        let why = format!(
            "the rollback of what its last user left open was not answered within {deadline:?}, as while a statement that was \
             given up still runs; this connection is closed and the server rolls back, the pool opens another one"
        );
        Err(sea_orm::sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, why)))
    })
}

/// Refuses what the driver would not understand, because its own words would quote the whole URL, password included; and
/// a database in memory, of which every connection would have another one.
fn refuse_unreadable(url: &str, dialect: Dialect) -> Result<(), String> {
    #[cfg(feature = "mysql")]
    if ServerAddresses::of_url(url)?.are_several() {
        return Err(
            "a pool of your own leads to one server; SeaOrmOutbox::open takes several addresses".into()
        );
    }
    let readable = match dialect {
        #[cfg(feature = "mysql")]
        Dialect::MySql => url.parse::<sea_orm::sqlx::mysql::MySqlConnectOptions>().is_ok(),
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => url.parse::<sea_orm::sqlx::sqlite::SqliteConnectOptions>().is_ok(),
        #[allow(unreachable_patterns, reason = "a dialect whose feature is off was refused before")]
        _ => false,
    };
    let in_memory = dialect == Dialect::Sqlite && (url.contains(":memory:") || url.contains("mode=memory"));
    match (readable, in_memory) {
        (_, true) => Err("SQLite in memory is another database for every connection; name a file".into()),
        (false, _) => {
            Err("the database URL cannot be read; write it like mysql://user:password@host:3306/database"
                .into())
        }
        (true, false) => Ok(()),
    }
}

/// What the outbox's own sessions need is set all the same: UTC, and names in utf8mb4.
#[cfg(feature = "mysql")]
fn as_given(given: &sea_orm::sqlx::mysql::MySqlConnectOptions) -> sea_orm::sqlx::mysql::MySqlConnectOptions {
    use sea_orm::sqlx::ConnectOptions;
    let options = given.clone().timezone(Some("+00:00".to_owned())).set_names(true).charset("utf8mb4");
    options.disable_statement_logging()
}

/// What a server says of itself.
#[cfg(feature = "mysql")]
fn place_of(said: &[MySqlRow]) -> Result<Place, sqlx::Error> {
    let setting = |row: &MySqlRow| Ok((row.try_get_unchecked(0)?, row.try_get_unchecked(1)?));
    let settings = said.iter().map(setting).collect::<Result<_, sqlx::Error>>()?;
    Ok(Place { settings, ..Place::default() })
}

/// `; SET timestamp = ...`, or nothing without a frozen clock.
#[cfg(feature = "mysql")]
fn set_timestamp(frozen: Option<&FrozenClock>) -> String {
    frozen.map_or_else(String::new, |clock| {
        let micros = clock.micros();
        format!("; SET timestamp = {}.{:06}", micros / 1_000_000, micros % 1_000_000)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[cfg(feature = "mysql")]
    async fn a_rollback_on_release_that_is_not_answered_says_so() {
        let (timer, hand) = StoreTimer::by_hand();
        let turn = async {
            hand.asleep_until(HardenedPool::ROLLBACK_DEADLINE).await;
            hand.advance(HardenedPool::ROLLBACK_DEADLINE);
        };
        let never = std::future::pending::<Result<(), _>>();
        let (answer, ()) = tokio::join!(in_time(&timer, never), turn);
        let error = answer.unwrap_err().to_string();
        assert!(error.contains("rollback") && error.contains("500ms"), "{error}");
        assert!(!error.contains("pool timed out"), "{error}");
    }

    #[test]
    fn a_wait_that_the_driver_cannot_add_to_a_moment_is_refused() {
        let pool = |acquire_timeout| HardenedPool { acquire_timeout, ..HardenedPool::default() };
        let why = pool(Duration::MAX).options("sqlite://x.db").unwrap_err();
        assert!(why.contains("acquire_timeout") && why.contains("a day or less"), "{why}");
        assert!(pool(HardenedPool::LONGEST_WAIT).options("sqlite://x.db").is_ok());
    }

    #[test]
    fn a_refusal_does_not_tell_the_password() {
        let pool = HardenedPool::default();
        for url in ["mysql://me:secret@host:port/db", "mysql://me:secret@[host/db"] {
            let why = pool.options(url).err().unwrap_or_default();
            assert!(why.contains("cannot be read") && !why.contains("secret"), "{why:?}");
        }
        for url in ["sqlite::memory:", "sqlite://:memory:", "sqlite://x?mode=memory"] {
            assert!(pool.options(url).is_err(), "{url}");
        }
    }
}
