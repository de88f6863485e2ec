use std::time::Duration;

use claimstream_ports::{StoreError, StoreErrorKind};
#[cfg(feature = "mysql")]
use sea_orm::DbBackend;
use sea_orm::{DatabaseConnection, DbErr, sqlx};

#[cfg(feature = "mysql")]
use crate::database::link::try_separate_connection;
use crate::database::{
    classify::{classify, is_pool_timeout, lacks_tls, refusal, sqlx_error},
    dialect::Dialect,
    given_pool::GivenPool,
    store_timer::StoreTimer,
};

/// Refuses a URL of a server that names no database: there every statement would fail.
pub(crate) fn names_a_database(url: &str, dialect: Dialect) -> Result<(), String> {
    #[cfg(feature = "mysql")]
    if dialect == Dialect::MySql
        && let Ok(options) = url.parse::<sqlx::mysql::MySqlConnectOptions>()
        && options.get_database().is_none()
    {
        return Err("the database URL names no database; write it like \
                    mysql://user:password@host:3306/database"
            .into());
    }
    let _ = (url, dialect);
    Ok(())
}

/// Why a pool could not be opened, with the setting that would help.
pub(crate) async fn refused(
    url: &str,
    dialect: Dialect,
    timer: &StoreTimer,
    waited: Duration,
    error: DbErr,
) -> StoreError {
    #[cfg(feature = "mysql")]
    if is_pool_timeout(&error)
        && dialect == Dialect::MySql
        && let Ok(options) = url.parse::<sqlx::mysql::MySqlConnectOptions>()
    {
        return no_connection("open", timer, &options, waited).await;
    }
    #[cfg(feature = "sqlite")]
    if dialect == Dialect::Sqlite
        && refusal(&error).is_some_and(|code| code & 0xff == SQLITE_CANTOPEN)
        && let Ok(options) = url.parse::<sqlx::sqlite::SqliteConnectOptions>()
    {
        let why = format!(
            "cannot open the database file {}; its folder must exist, and the file and the folder must be writable",
            options.get_filename().display()
        );
        return StoreError::new(StoreErrorKind::Misconfigured, "open", why);
    }
    let _ = (url, dialect, timer, waited);
    advised(classify("open", error))
}

/// Waits for the first connection of a pool, unless its server cannot be reached: a pool asks on and on until its time is over and
/// then says only that.
///
/// A connection of our own asks as well, when the pool takes longer than a connection does, so that a server which starts within
/// a second is waited for.
pub(crate) async fn unless_unreachable(
    url: &str,
    given: Option<&GivenPool>,
    dialect: Dialect,
    timer: &StoreTimer,
    answer_within: Option<Duration>,
    connected: impl Future<Output = Result<DatabaseConnection, DbErr>>,
) -> Result<Result<DatabaseConnection, DbErr>, StoreError> {
    #[cfg(feature = "mysql")]
    if dialect == Dialect::MySql
        && given.is_none()
        && let Ok(options) = url.parse::<sqlx::mysql::MySqlConnectOptions>()
    {
        return tokio::select! {
            connected = connected => Ok(connected),
            why = unreachable(timer, &options) => Err(why),
            why = silent(timer, &options, answer_within) => Err(why),
        };
    }
    let _ = (url, given, dialect, timer, answer_within);
    Ok(connected.await)
}

/// A pool that can connect has done so by then, mostly.
#[cfg(feature = "mysql")]
const WAIT: Duration = Duration::from_millis(600);

/// Ends when the server has not said a word for so long. A server speaks first, so nothing is sent.
#[cfg(feature = "mysql")]
async fn silent(
    timer: &StoreTimer,
    options: &sqlx::mysql::MySqlConnectOptions,
    answer_within: Option<Duration>,
) -> StoreError {
    use tokio::{io::AsyncReadExt, net::TcpStream};
    let Some(timeout) = answer_within.filter(|_| options.get_socket().is_none()) else {
        return std::future::pending().await;
    };
    timer.sleep(WAIT.min(timeout)).await;
    let greeted =
        async { TcpStream::connect((options.get_host(), options.get_port())).await?.read_u8().await };
    match timer.timeout(timeout.saturating_sub(WAIT), greeted).await {
        Some(_) => std::future::pending().await,
        None => {
            let place = format!("{}:{}", options.get_host(), options.get_port());
            let why = format!(
                "no connection to {place}: it does not answer within {timeout:?}; check the address and the firewall, or wait for \
                 longer with acquire_timeout"
            );
            StoreError::new(StoreErrorKind::Unavailable, "open", why)
        }
    }
}

/// Ends when the server has refused twice, half a second apart and later than a pool that can connect needs.
#[cfg(feature = "mysql")]
async fn unreachable(timer: &StoreTimer, options: &sqlx::mysql::MySqlConnectOptions) -> StoreError {
    use sea_orm::sqlx::ConnectOptions;
    let mut refusals = 0;
    loop {
        timer.sleep(WAIT).await;
        match options.connect().await {
            Err(sqlx::Error::Io(why)) => {
                refusals += 1;
                if refusals == 2 {
                    let place = format!("{}:{}", options.get_host(), options.get_port());
                    let why = format!("no connection to {place}: {why}");
                    return StoreError::new(StoreErrorKind::Unavailable, "open", why);
                }
            }
            // It can be reached; the pool has the better answer.
            _ => std::future::pending().await,
        }
    }
}

/// The file or its folder is not there or not to be opened. Later, while the database is open, it may pass.
#[cfg(feature = "sqlite")]
const SQLITE_CANTOPEN: u32 = 14;

/// The same error; where a pool has only said that its time ran out, the reason for that.
///
/// The error does not say which pool of the outbox it is about, so both settings are named.
pub(crate) async fn explained(db: &DatabaseConnection, timer: &StoreTimer, error: StoreError) -> StoreError {
    #[cfg(feature = "mysql")]
    if error.get_ref().downcast_ref::<DbErr>().is_some_and(is_pool_timeout)
        && db.get_database_backend() == DbBackend::MySql
    {
        let pool = db.get_mysql_connection_pool();
        let (options, waited) = (pool.connect_options(), pool.options().get_acquire_timeout());
        return no_connection(error.operation(), timer, &options, waited).await;
    }
    let _ = (db, timer);
    error
}

/// Asks without the pool.
#[cfg(feature = "mysql")]
async fn no_connection(
    operation: &'static str,
    timer: &StoreTimer,
    options: &sqlx::mysql::MySqlConnectOptions,
    waited: Duration,
) -> StoreError {
    const TIMEOUT: Duration = Duration::from_secs(2);
    let place = format!("{}:{}", options.get_host(), options.get_port());
    let unavailable = |why: String| StoreError::new(StoreErrorKind::Unavailable, operation, why);
    match timer.timeout(TIMEOUT, try_separate_connection(options)).await {
        Some(Ok(())) => unavailable(format!(
            "no connection within {waited:?}: all are in use; allow more with max_connections for callers, and with \
             relay_connections for claims, renewals and settlements"
        )),
        Some(Err(error)) => match sqlx_error(&error) {
            Some(sqlx::Error::Io(why)) => {
                unavailable(format!("no connection to {place} within {waited:?}: {why}"))
            }
            _ => advised(classify(operation, error)),
        },
        None => unavailable(format!("no connection to {place} within {waited:?}: it does not answer")),
    }
}

/// The error of a connection with the setting that would help, if it is known.
fn advised(error: StoreError) -> StoreError {
    let met = error.get_ref().downcast_ref::<DbErr>().and_then(sqlx_error);
    let (said, advice) = match met {
        Some(sqlx::Error::Database(refused)) => match advice(refused.as_ref()) {
            Some(advice) => (refused.to_string(), advice),
            None => return error,
        },
        Some(lacking) if lacks_tls(lacking) => (
            "the database URL asks for TLS".to_owned(),
            "switch on the feature `tls` of claimstream-sea-orm, or set ssl-mode=disabled in the URL",
        ),
        // The driver's text says that its feature must be enabled; a build that has TLS never shows it.
        Some(sqlx::Error::Configuration(why)) if why.to_string().contains("RSA auth") => (
            "the server takes this password over TLS only".to_owned(),
            "set ssl-mode=required in the database URL, with the feature `tls` of claimstream-sea-orm",
        ),
        _ => return error,
    };
    StoreError::new(error.kind(), error.operation(), format!("{said}; {advice}"))
}

#[cfg(feature = "mysql")]
fn advice(refused: &dyn sqlx::error::DatabaseError) -> Option<&'static str> {
    Some(match refused.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>()?.number() {
        1045 | 1698 => "check the user and the password of the database URL",
        1049 => "make that database, or name another one in the database URL",
        1044 | 1142 | 1143 | 1227 => {
            "grant the user of the database URL the rights on this database that docs/rights.md lists"
        }
        1820 | 1862 => {
            "the password has expired: set a new one with ALTER USER, and write it into the database URL"
        }
        1130 => "let this host in on the server, or connect from another one",
        3159 => "set ssl-mode=required in the database URL, with the feature `tls` of claimstream-sea-orm",
        _ => return None,
    })
}

#[cfg(not(feature = "mysql"))]
fn advice(_: &dyn sqlx::error::DatabaseError) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use sea_orm::RuntimeErr;

    use super::*;

    #[test]
    fn tls_that_was_not_built_in_names_the_feature() {
        let why = "TLS upgrade required by connect options but SQLx was built without TLS support enabled";
        let error = DbErr::Conn(RuntimeErr::SqlxError(sqlx::Error::Tls(why.into()).into()));
        let advice = advised(classify("open", error));
        assert_eq!(advice.kind(), StoreErrorKind::Misconfigured);
        assert!(
            advice.to_string().contains("feature `tls`") && !advice.to_string().contains("SQLx"),
            "{advice}"
        );
    }

    #[test]
    fn a_password_that_wants_tls_names_the_feature() {
        let why = "RSA auth backend disabled; enable feature `mysql-rsa`, or use TLS.";
        let error = DbErr::Conn(RuntimeErr::SqlxError(sqlx::Error::Configuration(why.into()).into()));
        let advice = advised(classify("open", error));
        assert_eq!(advice.kind(), StoreErrorKind::Misconfigured);
        assert!(
            advice.to_string().contains("ssl-mode=required") && !advice.to_string().contains("RSA"),
            "{advice}"
        );
    }

    #[test]
    #[cfg(feature = "mysql")]
    fn a_url_of_a_server_names_a_database() {
        let named = |url| names_a_database(url, Dialect::MySql);
        assert!(named("mysql://me@host/shop").is_ok());
        for url in ["mysql://me:secret@host", "mysql://me:secret@host/"] {
            let why = named(url).unwrap_err();
            assert!(why.contains("names no database") && !why.contains("secret"), "{why}");
        }
    }
}
