use std::{fmt, time::Duration};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{DatabaseConnection, QueryResult, TransactionTrait};

use crate::database::{
    args::Args, classify::classify, dialect::Dialect, link::ask_beside_the_pool, server::server_name,
    statements::Statements, store_timer::StoreTimer, unit,
};

const PROBE: &str = "probe";

/// Whether a server steps over locked rows, as two connections found out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SkipLocked {
    /// One connection held a row and the other stepped over it.
    Proven,
    /// The server does not know the words; the text names it.
    Refused(String),
    /// The server knows the words and did not act on them; the text says what it did.
    Ignored(String),
}

impl SkipLocked {
    const PATIENCE: Duration = Duration::from_secs(2);

    /// Locks a row on one connection and looks whether a second one steps over it; a version string is never trusted.
    pub(crate) async fn probe(
        db: &DatabaseConnection,
        sql: &Statements,
        timer: &StoreTimer,
    ) -> Result<Self, StoreError> {
        let look = Self::look(db, sql, timer).await?;
        match look {
            Some(Ok(found)) if found.is_empty() => Ok(Self::Proven),
            Some(Ok(_)) => Ok(Self::Ignored("the second connection was given the locked row".into())),
            Some(Err(error)) if error.kind() == StoreErrorKind::Unsupported => {
                Ok(Self::Refused(format!("{} has no SKIP LOCKED", server_name(db, sql).await?)))
            }
            Some(Err(error)) if error.kind() == StoreErrorKind::Transient => {
                Ok(Self::Ignored(format!("the second connection waited for the locked row: {error}")))
            }
            Some(Err(error)) => Err(error),
            None => Ok(Self::Ignored("the second connection waited for the locked row".into())),
        }
    }

    /// What a second connection sees. It is opened beside the pool, so that nobody holds one connection of the pool while
    /// waiting for another.
    async fn look(db: &DatabaseConnection, sql: &Statements, timer: &StoreTimer) -> Result<Look, StoreError> {
        let holder = db.begin().await.map_err(|e| classify(PROBE, e))?;
        unit::rows(&holder, PROBE, sql.probe.lock.bind(&Args::new())).await?;
        let found = ask_beside_the_pool(db, Dialect::MySql, sql.probe.skip.bind(&Args::new()));
        let look = timer.timeout(Self::PATIENCE, found).await;
        holder.rollback().await.map_err(|e| classify(PROBE, e))?;
        Ok(look.map(|found| found.map_err(|e| classify(PROBE, e))))
    }
}

/// What came of a look, if it came in time.
type Look = Option<Result<Vec<QueryResult>, StoreError>>;

impl fmt::Display for SkipLocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proven => f.write_str("a second connection stepped over a locked row"),
            Self::Refused(why) => f.write_str(why),
            Self::Ignored(what) => write!(f, "SKIP LOCKED is accepted but has no effect: {what}"),
        }
    }
}
