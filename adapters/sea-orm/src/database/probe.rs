use std::{fmt, time::Duration};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{DatabaseConnection, TransactionTrait};

use crate::database::{
    args::Args,
    classify::{classify, is_row_locked_by_another},
    dialect::Dialect,
    link::ask_on_separate_connection,
    server::server_name,
    statements::Statements,
    store_timer::StoreTimer,
    unit,
};

const PROBE: &str = "probe";

/// Whether a server steps over locked rows, as two connections found out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SkipLockedProof {
    /// One connection held a row and the other stepped over it.
    Proven,
    /// The server does not know the words; the text names it.
    Refused(String),
    /// The server knows the words and did not act on them; the text says what it did.
    Ignored(String),
}

impl SkipLockedProof {
    /// Longer than the server lets a session wait for a row.
    const DEADLINE: Duration = Duration::from_secs(20);

    /// Locks a row on one connection and looks whether a second one steps over it; a version string is never trusted. Where another process
    /// holds the row, as in a probe of its own, the first connection has stepped over it.
    ///
    /// An answer that does not come in time is an error: it shows a busy server, not what the server does.
    pub(crate) async fn probe(
        db: &DatabaseConnection,
        sql: &Statements,
        timer: &StoreTimer,
    ) -> Result<Self, StoreError> {
        match judge(Self::look(db, sql, timer).await?)? {
            Some(proof) => Ok(proof),
            None => Ok(Self::Refused(format!("{} has no SKIP LOCKED", server_name(db, sql).await?))),
        }
    }

    /// The rows that a second connection sees. It is opened outside of the pool, so that no call holds one connection of the pool while
    /// waiting for another.
    async fn look(db: &DatabaseConnection, sql: &Statements, timer: &StoreTimer) -> Result<Look, StoreError> {
        let holder = db.begin().await.map_err(|e| classify(PROBE, e))?;
        match unit::rows(&holder, PROBE, sql.probe.skip.bind(&Args::new())).await {
            Ok(locked) if !locked.is_empty() => {}
            stepped_over => {
                holder.rollback().await.map_err(|e| classify(PROBE, e))?;
                return Ok(stepped_over.map(|rows| rows.len()));
            }
        }
        let found = ask_on_separate_connection(db, Dialect::MySql, sql.probe.skip.bind(&Args::new()));
        let look = timer.timeout(Self::DEADLINE, found).await;
        holder.rollback().await.map_err(|e| classify(PROBE, e))?;
        let late = || Err(StoreError::new(StoreErrorKind::Unavailable, PROBE, LATE));
        Ok(look.map_or_else(late, |found| found.map(|rows| rows.len()).map_err(|e| classify(PROBE, e))))
    }
}

const LATE: &str = "a second connection had no answer in 20 s";

/// How many rows a second connection was given.
type Look = Result<usize, StoreError>;

/// What a look shows; `None` where the server does not know the words.
fn judge(look: Look) -> Result<Option<SkipLockedProof>, StoreError> {
    match look {
        Ok(0) => Ok(Some(SkipLockedProof::Proven)),
        Ok(_) => Ok(Some(SkipLockedProof::Ignored("the second connection was given the locked row".into()))),
        Err(error) if error.kind() == StoreErrorKind::Unsupported => Ok(None),
        Err(error) if is_row_locked_by_another(&error) => Ok(Some(SkipLockedProof::Ignored(format!(
            "the second connection waited for the locked row: {error}"
        )))),
        Err(error) => Err(error),
    }
}

impl fmt::Display for SkipLockedProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proven => f.write_str("a second connection stepped over a locked row"),
            Self::Refused(why) => f.write_str(why),
            Self::Ignored(what) => write!(f, "SKIP LOCKED is accepted but has no effect: {what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: a server that answers late or in passing trouble has not ignored SKIP LOCKED | src/database/probe.rs `judge`: any
    /// error is `Ignored`
    #[test]
    fn trouble_is_no_proof() {
        for kind in [StoreErrorKind::Unavailable, StoreErrorKind::Transient] {
            let look = judge(Err(StoreError::new(kind, PROBE, LATE)));
            assert_eq!(look.expect_err("no proof").kind(), kind);
        }
        let unknown = StoreError::new(StoreErrorKind::Unsupported, PROBE, "near 'SKIP LOCKED'");
        assert_eq!(judge(Err(unknown)).expect("a proof"), None);
        assert_eq!(judge(Ok(0)).expect("a proof"), Some(SkipLockedProof::Proven));
        assert!(matches!(judge(Ok(1)), Ok(Some(SkipLockedProof::Ignored(_)))));
    }
}
